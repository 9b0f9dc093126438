import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readHistory } from './client.ts';
import type { Evidence } from './records.ts';

/** What a run that failed has left in its folder. */
export async function readKept(folder: string): Promise<Evidence> {
  const text = await readFile(join(folder, 'evidence.json'), 'utf8');
  const rest = JSON.parse(text) as Omit<Evidence, 'events'>;
  return { ...rest, events: await readHistory(join(folder, 'history.jsonl')) };
}
