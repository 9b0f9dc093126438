import { defineConfig } from 'vitest/config';
import quick, { SLOW } from '../vitest.config.ts';

/** The tests that take minutes: other clients' faults, the nightly job, the package from outside. */
export default defineConfig({
  ...quick,
  test: { ...quick.test, root: '.', include: SLOW, exclude: ['node_modules/**'] },
});
