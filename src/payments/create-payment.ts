import type { Ended } from './answer.ts';
import type { Journal, NewPayment, Opened, PaymentReader } from './ports.ts';
import { alreadyThere, mayRunAgain, NothingSent, type SendDeps, send } from './send.ts';

/**
 * Charges once: a committed entry first, then the PSP, then the outcome.
 *
 * @throws NothingSent if the entry could not be written; the cause says why
 */
export async function createPayment(deps: SendDeps, command: NewPayment): Promise<Ended> {
  const startedAt = deps.now();
  return proceed(deps, await open(deps.journal, command), command, startedAt);
}

/** What the journal has under the command's key, without doing anything. */
export async function lookUpPayment(
  reader: PaymentReader,
  command: Pick<NewPayment, 'merchantId' | 'idempotencyKey' | 'fingerprint' | 'psp'>,
): Promise<Ended | undefined> {
  const found = await reader.entryByKey(command.merchantId, command.idempotencyKey);
  return found === undefined ? undefined : alreadyThere(found, command);
}

async function open(journal: Journal, command: NewPayment): Promise<Opened> {
  try {
    const opened = await journal.open(command);
    const again = opened.kind === 'exists' && mayRunAgain(opened, command);
    return again ? await journal.reopen(opened) : opened;
  } catch (cause) {
    throw new NothingSent('The journal entry could not be written.', { cause });
  }
}

async function proceed(
  deps: SendDeps,
  opened: Opened,
  command: NewPayment,
  startedAt: number,
): Promise<Ended> {
  switch (opened.kind) {
    case 'opened':
      return send(deps, opened.hold, startedAt);
    case 'exists':
      return alreadyThere(opened, command);
    case 'transaction-id-taken':
      return transactionIdTaken(opened.paymentId);
  }
}

function transactionIdTaken(paymentId: string): Ended {
  const decision = { kind: 'transaction-id-taken', paymentId } as const;
  const firstSeenAt = new Date().toISOString();
  const answer = { paymentId: null, decision, attempt: 0, firstSeenAt, settledAt: null };
  return { kind: 'released', answer, first: true, payment: null };
}
