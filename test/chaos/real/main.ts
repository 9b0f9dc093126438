import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CELLS, KILLS } from './faults.ts';
import { report } from './report.ts';
import { run } from './run.ts';

const HELP = `npm run chaos -- [options]

Servers, Postgres, Redis with a replica and the PSP simulator as processes of their own, clients that
retry, faults at every point of a payment, and a check of everything that was promised.

  --minutes N    the longest that faults are made (default 5)
  --seed S       decides the workload and the faults (default: by the clock)
  --intents N    ends the faults once so many intents were begun and every cell was hit
  --min-cell N   how often each cell must be hit, or the run fails (default 1)
  --kills        only the deaths of servers, at every point
  --only TEXT    only cells whose name contains this
  --clients N    (default 16)
  --servers N    (default 2)
  --help         this text

Ends with 0 if nothing promised was broken, every cell was hit and no intent is missing, else with 1.
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    intents: { type: 'string' },
    'min-cell': { type: 'string', default: '1' },
    kills: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    clients: { type: 'string', default: '16' },
    servers: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
});

function positive(name: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  process.stderr.write(`--${name} is ${text}; accepted: a number above 0\n`);
  process.exit(2);
}

if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seed = Math.trunc(positive('seed', values.seed));
const commit = execFileSync('git', ['describe', '--always', '--dirty'], {
  encoding: 'utf8',
}).trim();
say(`seed ${seed}, commit ${commit}`);
const all = values.kills ? KILLS : CELLS;
const startedAt = performance.now();
const result = await run({
  seed,
  chaosMs: positive('minutes', values.minutes) * 60_000,
  intents: values.intents === undefined ? undefined : positive('intents', values.intents),
  minCell: positive('min-cell', values['min-cell']),
  cells: all.filter(({ id }) => id.includes(values.only)),
  clients: positive('clients', values.clients),
  servers: positive('servers', values.servers),
  say,
});
for (const line of report(result)) say(line);
say(`seed ${seed}, commit ${commit}, ${Math.round((performance.now() - startedAt) / 1_000)} s`);
const { verdict, unhit, missing } = result;
const failed = verdict.violations.length > 0 || unhit.length > 0 || missing > 0;
if (failed) {
  const file = join(tmpdir(), `semel-chaos-${seed}.json`);
  writeFileSync(file, JSON.stringify({ seed, commit, ...result.evidence }));
  say(`the whole evidence: ${file}`);
}
process.exit(failed ? 1 : 0);
