import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { request } from 'undici';
import type { Child, Environment } from './children.ts';
import { type Execution, executionsAt, type Stage } from './stage.ts';
import type { Place, System } from './systems.ts';

export type FaultName = 'duplicates' | 'redis lost' | 'killed in the PSP call';

/** What one fault did to one system. Peers are only reported; ours must charge each key once. */
export interface Fault {
  readonly system: string;
  readonly fault: FaultName;
  /** True: a repeated charge carries the same PSP key, and the PSP does it once. */
  readonly isStable: boolean;
  readonly keys: number;
  readonly charges: number;
  /** Charges of the key that was charged most often. */
  readonly most: number;
  readonly twice: number;
  /** Keys that have no right answer after all retries. */
  readonly unanswered: number;
}

/** A system in two processes on empty databases, while something happens to it. */
interface Scene {
  readonly stage: Stage;
  readonly system: System;
  readonly place: Place;
  readonly psp: Child;
  readonly prepared: string;
  readonly children: Child[];
  readonly environment: Environment;
}

const KEYS = { duplicates: 16, lost: 100, killed: 32 } as const;
const DUPLICATES = 100;
const RETRIES = 3;
const RETRY_MS = 500;
const UNTIL_ENDED = 60;
const PSP_MS = 1_000;

/** Locks and leases of some seconds, so that they end while one can wait for it. */
const HASTY: Environment = {
  LOCK_MS: '1500',
  PSP_TIMEOUT_MS: '2500',
  CLOCK_DRIFT_MS: '200',
  LOCK_GRACE_MS: '1500',
  RECOVER_AFTER_MS: '5000',
};

const FAULTS: Readonly<Record<FaultName, (scene: Scene) => Promise<Tried>>> = {
  duplicates,
  'redis lost': redisLost,
  'killed in the PSP call': killedInTheCall,
};

interface Tried {
  readonly keys: readonly string[];
  readonly unanswered: number;
}

/** All faults on one system, each on empty databases and empty books of the PSP. */
export async function faultsOn(
  stage: Stage,
  psp: Child,
  system: System,
  isStable: boolean,
): Promise<readonly Fault[]> {
  const all: Fault[] = [];
  for (const fault of Object.keys(FAULTS) as FaultName[]) {
    await stage.flush(system.database);
    await fetch(`${psp.url}/admin/reset`, { method: 'POST' });
    await stage.dropDatabase('faults');
    const databaseUrl = await stage.createDatabase('faults');
    const redisUrl = stage.redisUrl(system.database);
    const place = { databaseUrl, redisUrl, simulatorUrl: psp.url };
    const prepared = await system.prepare(place);
    const environment = { ...HASTY, STABLE_PSP_KEY: isStable ? '1' : '0' };
    const children: Child[] = [];
    try {
      const two = [system.start(place, environment), system.start(place, environment)];
      children.push(...(await Promise.all(two)));
      const scene = { stage, system, place, psp, prepared, children, environment };
      const { keys, unanswered } = await FAULTS[fault](scene);
      const charges = await chargesOf(scene, keys);
      all.push({ system: system.name, fault, isStable, keys: keys.length, ...charges, unanswered });
    } finally {
      await Promise.all(children.map((child) => child.stop()));
    }
  }
  await stage.dropDatabase('faults');
  return all;
}

/** Each key a hundred times at once, over both processes. */
async function duplicates(scene: Scene): Promise<Tried> {
  const keys = newKeys(KEYS.duplicates);
  for (const key of keys) {
    await Promise.all(Array.from({ length: DUPLICATES }, (_, turn) => ask(scene, key, turn)));
  }
  return { keys, unanswered: await insist(scene, keys, 'pm_ok', RETRIES) };
}

/** Redis forgets everything once all is paid; then the clients, who do not know, ask again. */
async function redisLost(scene: Scene): Promise<Tried> {
  const keys = newKeys(KEYS.lost);
  await insist(scene, keys, 'pm_ok', RETRIES);
  await scene.stage.flush(scene.system.database);
  return { keys, unanswered: await insist(scene, keys, 'pm_ok', RETRIES) };
}

/** Both processes die while the PSP works; they come again when no lock holds any more. */
async function killedInTheCall(scene: Scene): Promise<Tried> {
  const { stage, system, place, psp, children, environment } = scene;
  const keys = newKeys(KEYS.killed);
  const method = `pm_slow_${PSP_MS}`;
  const asked = keys.map((key, turn) => ask(scene, key, turn, method));
  await untilAtPsp(psp, keys.length);
  await Promise.all(children.map((child) => child.kill()));
  await Promise.all(asked);
  await stage.flush(system.database);
  await sleep(Number(HASTY['LOCK_MS']) + PSP_MS);
  const again = children.map(() => system.start(place, environment));
  children.splice(0, children.length, ...(await Promise.all(again)));
  return { keys, unanswered: await insist(scene, keys, method, UNTIL_ENDED) };
}

/** Retries what has no right answer yet, at most so often. @returns how many keys are left */
async function insist(
  scene: Scene,
  keys: readonly string[],
  method: string,
  most: number,
): Promise<number> {
  let left = keys;
  for (let tries = 0; left.length > 0 && tries < most; tries += 1) {
    if (tries > 0) await sleep(RETRY_MS);
    const right = await Promise.all(left.map((key, turn) => ask(scene, key, turn, method)));
    left = left.filter((_, place) => right[place] !== true);
  }
  return left.length;
}

/** @returns true if the answer was right; a lost connection is no answer */
async function ask(
  { system, prepared, children }: Scene,
  key: string,
  turn: number,
  method = 'pm_ok',
): Promise<boolean> {
  const { path, headers, body, expect } = system.ask(method, prepared);
  const origin = new URL(children[turn % children.length]?.url ?? '').origin;
  const withKey = Object.entries(headers).map(([name, value]) => [name, value.replace('@', key)]);
  try {
    const answer = await request(`${origin}${path}`, {
      method: 'POST',
      headers: Object.fromEntries(withKey),
      body: body.replace('@', key),
    });
    return (await answer.body.text()).includes(expect);
  } catch {
    return false;
  }
}

async function untilAtPsp(psp: Child, count: number): Promise<void> {
  const endsAt = performance.now() + 10_000;
  while (performance.now() < endsAt) {
    const requests = (await (await fetch(`${psp.url}/admin/requests`)).json()) as unknown[];
    if (requests.length >= count) return;
    await sleep(20);
  }
  throw new Error('Not every payment came to the PSP.');
}

async function chargesOf(scene: Scene, keys: readonly string[]) {
  const executions = await executionsAt(scene.psp);
  const keyOf = await keysByReference(scene);
  return countCharges(keys, executions, keyOf);
}

/** By key: how often each was charged. A charge of no known key counts as one too many. */
export function countCharges(
  keys: readonly string[],
  executions: readonly Pick<Execution, 'reference'>[],
  keyOf: (reference: string) => string,
): { readonly charges: number; readonly most: number; readonly twice: number } {
  const counts = new Map(keys.map((key) => [key, 0]));
  for (const { reference } of executions) {
    const key = keyOf(reference);
    counts.set(key, (counts.get(key) ?? 1) + 1);
  }
  const all = [...counts.values()];
  return {
    charges: executions.length,
    most: Math.max(...all),
    twice: all.filter((count) => count > 1).length,
  };
}

/** Peers name their key to the PSP; ours names an entry, whose key is in the journal. */
async function keysByReference({ system, place }: Scene): Promise<(reference: string) => string> {
  if (!system.isSemel) return (reference) => reference;
  const sql = postgres(place.databaseUrl, { max: 1 });
  const rows = await sql<{ id: string; idempotency_key: string }[]>`
    select id, idempotency_key from journal_entries`;
  await sql.end();
  const keys = new Map(rows.map(({ id, idempotency_key }) => [id, idempotency_key]));
  return (reference) => keys.get(reference) ?? reference;
}

/** No long row of digits, which might be taken for a card number. */
const newKeys = (count: number): readonly string[] => {
  const run = Date.now().toString(36);
  return Array.from({ length: count }, (_, turn) => `fault-${run}-k${turn}`);
};
