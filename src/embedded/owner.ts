import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isAlive, startOf } from './processes.ts';

interface Owner {
  readonly pid: number;
  /** See `startOf`: tells a recycled pid from the process that wrote the file. */
  readonly start: string | undefined;
}

/** The right to run a server on a folder, held by one living process at a time. */
export interface Ownership {
  release(): Promise<void>;
}

const ATTEMPTS = 5;

/**
 * Takes the folder for this process by a file beside it. The file of a dead process is taken over.
 * @throws naming the pid if another living process has it
 */
export async function takeOwnership(data: string): Promise<Ownership> {
  const file = `${data}.owner`;
  const mine = JSON.stringify({ pid: process.pid, start: startOf(process.pid) } satisfies Owner);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await createWhole(file, mine)) return { release: () => releaseIfMine(file, mine) };
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    refuseIfAlive(text, data);
    await removeStale(file, text, data);
  }
  throw new Error(`Could not take ${data}: other processes keep taking and leaving it.`);
}

/** Written aside, then linked: the name appears with its whole content or not at all. */
async function createWhole(file: string, text: string): Promise<boolean> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, text, { mode: 0o644, flag: 'wx' });
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

function refuseIfAlive(text: string, data: string): void {
  const owner = parse(text);
  if (owner === undefined || !isAlive(owner.pid)) return;
  const start = startOf(owner.pid);
  if (start !== undefined && owner.start !== undefined && start !== owner.start) return;
  throw new Error(
    `The data in ${data} is in use by process ${owner.pid}: stop that process, or set DATA_DIR to another folder.`,
  );
}

/** Moved away before it is deleted: if it turns out that another process was quicker, put back. */
async function removeStale(file: string, text: string, data: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  const moved = await rename(file, aside).then(
    () => true,
    () => false,
  );
  if (!moved) return;
  const found = await readFile(aside, 'utf8');
  if (found !== text) await link(aside, file).catch(() => {});
  await rm(aside, { force: true });
  if (found !== text) refuseIfAlive(found, data);
}

async function releaseIfMine(file: string, mine: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === mine) await rm(file, { force: true });
}

function parse(text: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value)) return undefined;
    const start = 'start' in value && typeof value.start === 'string' ? value.start : undefined;
    return typeof value.pid === 'number' ? { pid: value.pid, start } : undefined;
  } catch {
    return undefined;
  }
}
