import { isFirst, type Recorded } from '../../payments/index.ts';
import { type Arguments, differingPaths } from '../arguments.ts';
import type { Context } from '../context.ts';
import type { IdempotentCall } from '../idempotent.ts';
import type { Difference } from '../refusals.ts';
import { fieldOf } from './ended.ts';

/** Where a request with a used key differs from the first one, as the journal has that. */
export async function explain({
  field,
  args,
  intent,
  context,
}: IdempotentCall<Context>): Promise<Difference | undefined> {
  const { reader } = context.services;
  const first = await reader.entryByKey(intent.scope, intent.key).catch(() => undefined);
  if (first === undefined) return undefined;
  if (fieldOf(first.entry) !== field) return { reason: 'OPERATION', paths: [] };
  return { reason: 'PAYLOAD', paths: differingPaths(args, firstArguments(first)) };
}

function firstArguments({ entry, payment }: Recorded): Arguments {
  if (entry.request !== null && 'cancels' in entry.request)
    return { key: entry.request['cancels'] };
  if (!isFirst(entry.operation)) return { input: entry.request ?? {} };
  const { amountMinor, currency } = entry;
  const { paymentMethod, transactionId, description, metadata } = payment;
  return {
    input: {
      amount: { amountMinor, currency },
      paymentMethod,
      captureMode: entry.operation === 'AUTHORIZE' ? 'MANUAL' : 'AUTOMATIC',
      ...(transactionId === null ? {} : { transactionId }),
      ...(description === null ? {} : { description }),
      ...(metadata === null ? {} : { metadata }),
    },
  };
}
