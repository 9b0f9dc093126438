import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from './checker.ts';
import { readKept } from './kept.ts';
import { type Chosen, HELP, readOptions } from './options.ts';
import { found, report } from './report.ts';
import { run } from './run.ts';

function choose(): Chosen {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

const chosen = choose();
if (chosen.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const progress = (line: string): void => void process.stderr.write(`${line}\n`);
if (chosen.judge !== undefined) {
  const evidence = await readKept(chosen.judge);
  const verdict = check(evidence);
  for (const line of found(evidence, verdict)) say(line);
  process.exit(verdict.violations.length > 0 ? 1 : 0);
}
const { seed, redis, profile } = chosen.run;
const commit = execFileSync('git', ['describe', '--always', '--dirty'], {
  encoding: 'utf8',
}).trim();
const name = `seed ${seed}, Redis ${redis}, PSP ${profile}, commit ${commit}`;
say(name);
const startedAt = performance.now();
const result = await run({ ...chosen.run, say: progress });
for (const line of report(result)) say(line);
say(`${name}, ${Math.round((performance.now() - startedAt) / 1_000)} s`);
const { verdict, unhit, missing } = result;
const failed = verdict.violations.length > 0 || unhit.length > 0 || missing > 0;
if (failed) {
  const file = join(result.folder, 'evidence.json');
  const { events: _, ...rest } = result.evidence;
  writeFileSync(file, JSON.stringify({ seed, commit, ...rest }));
  say(`kept: ${result.folder} (logs, history.jsonl, evidence.json)`);
} else await result.forget();
process.exit(failed ? 1 : 0);
