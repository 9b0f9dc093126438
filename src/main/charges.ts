import { z } from 'zod';
import type { Services } from '../graphql/index.ts';
import type { Identities } from '../postgres/index.ts';

/** Where a key of the demo merchant is looked up. */
export interface DemoBooks {
  readonly identities: Identities;
  readonly reader: Services['reader'];
}

const ANSWER_MS = 3_000;
const executionsSchema = z.array(z.object({ kind: z.string() }));

/**
 * How often the simulator's own books hold the charge of a key of the demo merchant: what the
 * checkout shows beside what it was told.
 */
export async function chargesAtPsp(
  simulatorUrl: string,
  demoApiKey: string,
  idempotencyKey: string,
  { identities, reader }: DemoBooks,
): Promise<number> {
  const demo = await identities.identify(demoApiKey);
  const recorded = demo && (await reader.entryByKey(demo.merchantId, idempotencyKey));
  if (recorded === undefined) return 0;
  const asked = new URLSearchParams({ reference: recorded.entry.id });
  const response = await fetch(`${simulatorUrl.replace(/\/$/, '')}/admin/executions?${asked}`, {
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const executions = executionsSchema.parse(await response.json());
  return executions.filter(({ kind }) => kind === 'charge').length;
}
