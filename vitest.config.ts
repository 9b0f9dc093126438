import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**', 'test/bench/**', 'node_modules/**'],
    globalSetup: ['./test/support/global-postgres.ts', './test/support/global-redis.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/closing-line-reporter.ts'],
  },
});
