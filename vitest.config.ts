import { defineConfig } from 'vitest/config';

/** What takes minutes: `npm run test:slow`. */
export const SLOW = [
  'test/client-e2e/**/*.test.ts',
  'test/events/**/*.test.ts',
  'test/package/**/*.test.ts',
];

export default defineConfig({
  // The sources and the libraries must share one graphql; Vite alone would load its .mjs twin.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...SLOW, 'test/chaos/**', 'test/browser/**', 'node_modules/**'],
    globalSetup: ['./test/support/global-postgres.ts', './test/support/global-redis.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/closing-line-reporter.ts'],
  },
});
