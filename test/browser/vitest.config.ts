import { defineConfig } from 'vitest/config';

/** The tests that need a browser: `npm run test:browser`. */
export default defineConfig({
  test: {
    root: '.',
    include: ['test/browser/**/*.test.ts'],
    globalSetup: ['./test/support/global-postgres.ts', './test/support/global-redis.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', './test/support/closing-line-reporter.ts'],
  },
});
