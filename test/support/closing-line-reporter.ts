import type { SerializedError } from 'vitest';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Ends the output with one line, `N passed, N failed` (`, N skipped` only if there are any), for a
 * reader that looks at the last line and nothing else. Printed when the process exits, since other
 * reporters and the teardown may speak after the run; in watch mode, which does not exit, after
 * each run.
 */
export default class ClosingLineReporter implements Reporter {
  #counts: Counts | undefined;
  #watching = false;

  onInit(vitest: { config: { watch: boolean } }): void {
    this.#watching = vitest.config.watch;
    if (this.#watching) return;
    process.once('exit', (code) => print(this.#counts ?? nothing(), code !== 0));
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const counts = nothing();
    for (const module of modules) countModule(counts, module);
    counts.failed += unhandledErrors.length;
    this.#counts = counts;
    if (this.#watching) print(counts, false);
  }
}

function nothing(): Counts {
  return { passed: 0, failed: 0, skipped: 0 };
}

/** A file or suite whose own code failed counts as one failure, beside those of its tests. */
function countModule(counts: Counts, module: TestModule): void {
  const groups: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
  counts.failed += groups.filter((group) => group.errors().length > 0).length;
  for (const test of module.children.allTests()) countTest(counts, test);
}

/** A test that never came to its end has not passed. */
function countTest(counts: Counts, test: TestCase): void {
  const { state } = test.result();
  counts[state === 'pending' ? 'failed' : state] += 1;
}

/** A run that failed as a whole (its setup, no test found) must not read as if all was well. */
function print({ passed, failed, skipped }: Counts, runFailed: boolean): void {
  const shown = runFailed ? Math.max(failed, 1) : failed;
  const rest = skipped > 0 ? `, ${skipped} skipped` : '';
  process.stdout.write(`${passed} passed, ${shown} failed${rest}\n`);
}
