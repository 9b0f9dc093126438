import { defineConfig } from 'vitest/config';
import quick from '../../vitest.config.ts';

/** The simulation, its planted bugs, and the contract of its journal. */
export default defineConfig({
  ...quick,
  test: {
    ...quick.test,
    root: '.',
    include: ['test/chaos/**/*.test.ts'],
    exclude: ['node_modules/**'],
    testTimeout: 600_000,
  },
});
