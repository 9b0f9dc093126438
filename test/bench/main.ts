/**
 * `npm run bench`: plays every mode in every round and prints medians of ratios within each round.
 * Rates of two runs must not be compared: the machine is never the same.
 */
import { writeFileSync } from 'node:fs';
import { about } from './about.ts';
import { type Against, buildAgainst } from './against.ts';
import { asCommand, say } from './command.ts';
import { type Fault, faultsOn } from './faults.ts';
import { type Flags, HELP, readFlags } from './flags.ts';
import { FreshSet } from './fresh-set.ts';
import { brokenIn, factsOf, faultsOfOurs, wrongAnswers } from './gates.ts';
import { measure, untilQuiet } from './measure.ts';
import { byRound, type Measured } from './measured.ts';
import { AGAINST, chooseModes, MODES, type Mode, REFERENCE } from './modes.ts';
import { AGAINST_QUANTITIES, belowFloor, judge, QUANTITIES } from './quantities.ts';
import { openStage, type Stage } from './stage.ts';
import { PEERS, SEMEL, SYSTEMS } from './systems.ts';
import { faultTable, modeTable, targetTable } from './tables.ts';

const print = (text: string) => process.stdout.write(`${text}\n`);

/** Ours and those we are only compared with, by the system that a mode asks. */
const OURS = new Set(['semel', 'against', 'noop', 'echo', 'journal']);

interface Played {
  readonly measured: readonly Measured[];
  readonly broken: readonly string[];
}

/** One set of fresh processes: warmed up, played, and its books looked at. */
async function playSet(
  stage: Stage,
  modes: readonly Mode[],
  flags: Flags,
  number: number,
  systems: typeof SYSTEMS,
): Promise<Played> {
  const set = await FreshSet.start(stage, modes, systems);
  const paid = new Map<string, number>();
  const count = ({ system }: Mode, keys: number) =>
    paid.set(system, (paid.get(system) ?? 0) + keys);
  const measured: Measured[] = [];
  try {
    for (const mode of modes) {
      const requests = Math.max(5, Math.round(flags.warmUp * mode.warmUp));
      say(`set ${number + 1} of ${flags.fresh}: warm-up of ${mode.name}, ${requests} requests`);
      await set.ready(mode);
      if (mode.by !== 'pgbench') count(mode, (await set.play(mode, { requests })).keys);
    }
    for (let round = 0; round < flags.rounds; round += 1) {
      if (!flags.short) await untilQuiet();
      const order = round % 2 === 0 ? modes : [...modes].reverse();
      for (const mode of order) {
        const one = await measure(set, mode, { set: number, round, ms: flags.ms });
        count(mode, one.keys);
        measured.push(one);
      }
      say(`set ${number + 1} of ${flags.fresh}: round ${round + 1} of ${flags.rounds}`);
    }
    return { measured, broken: brokenIn(await factsOf(set, paid)) };
  } finally {
    await set.stop();
  }
}

async function playFaults(stage: Stage, which: Flags['faults']): Promise<readonly Fault[]> {
  if (which === 'none') return [];
  const psp = await stage.startPsp();
  const faults: Fault[] = [];
  try {
    for (const system of which === 'all' ? [SEMEL, ...PEERS] : [SEMEL]) {
      // Ours derives the PSP's key itself: there is nothing to switch.
      for (const isStable of system.isSemel ? [true] : [false, true]) {
        say(`faults: ${system.name}${isStable ? ', stable PSP key' : ''}`);
        faults.push(...(await faultsOn(stage, psp, system, isStable)));
      }
    }
  } finally {
    await psp.stop();
  }
  return faults;
}

async function run(flags: Flags, stage: Stage, against: Against | undefined): Promise<number> {
  // Now: by the end the folder may stand at another commit.
  const where = await about(stage);
  const modes = chooseModes(flags);
  const systems = against === undefined ? SYSTEMS : [...SYSTEMS, against.system];
  const measured: Measured[] = [];
  const broken: string[] = [];
  for (let number = 0; number < flags.fresh; number += 1) {
    const played = await playSet(stage, modes, flags, number, systems);
    measured.push(...played.measured);
    broken.push(...played.broken);
  }
  const rounds = byRound(measured);
  const judged = judge(rounds, [...QUANTITIES, ...AGAINST_QUANTITIES]);
  print(modeTable(modes, rounds, REFERENCE));
  if (judged.length > 0) print(`\n${targetTable(judged)}`);
  const faults = await playFaults(stage, flags.faults);
  if (faults.length > 0) print(`\n${faultTable(faults)}`);
  const ofOurs = new Set(modes.filter(({ system }) => OURS.has(system)).map(({ name }) => name));
  broken.push(
    ...wrongAnswers(measured.filter(({ mode }) => ofOurs.has(mode))),
    ...faultsOfOurs(faults, SEMEL.name),
    ...belowFloor(judged),
  );
  const facts = { ...where, against: against?.commit ?? null, settings: flags };
  writeFileSync(
    flags.json,
    JSON.stringify({ ...facts, judged, faults, broken, measured }, null, 2),
  );
  for (const line of broken) print(`FAILED: ${line}`);
  if (broken.length === 0) print('\nEvery gate holds: one execution a key, the books balance.');
  return broken.length === 0 ? 0 : 1;
}

async function main(): Promise<number> {
  const flags = readFlags(process.argv.slice(2));
  if (flags === 'help') {
    const names = [...MODES, ...AGAINST].map(({ name, title }) => `  ${name.padEnd(28)}${title}`);
    print(`${HELP}\nModes (those @against only with --against):\n${names.join('\n')}`);
    return 0;
  }
  chooseModes(flags);
  const against = flags.against === undefined ? undefined : await buildAgainst(flags.against, say);
  const stage = await openStage();
  try {
    return await run(flags, stage, against);
  } finally {
    await stage.stop();
    await against?.remove();
  }
}

await asCommand(main);
