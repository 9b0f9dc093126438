import type { Ended } from './answer.ts';
import type { FollowUp, FollowUpJournal, FollowUpOpened } from './ports.ts';
import { alreadyThere, mayRunAgain, NothingSent, type SendDeps, send } from './send.ts';

export interface FollowUpDeps extends SendDeps {
  readonly followUps: FollowUpJournal;
}

/**
 * Captures, voids or refunds once: a committed entry with its amount reserved, then the PSP, then
 * the outcome. What the payment does not allow is refused before anything is written.
 *
 * @throws NothingSent if the entry could not be written; the cause says why
 */
export async function followUp(deps: FollowUpDeps, command: FollowUp): Promise<Ended> {
  const startedAt = deps.now();
  const opened = await open(deps.followUps, command);
  switch (opened.kind) {
    case 'opened':
      return send(deps, opened.hold, startedAt);
    case 'exists':
      return alreadyThere(opened, command);
    case 'refused':
      return refused(opened, command);
  }
}

async function open(journal: FollowUpJournal, command: FollowUp): Promise<FollowUpOpened> {
  try {
    const opened = await journal.open(command);
    const again = opened.kind === 'exists' && mayRunAgain(opened, command);
    return again ? await journal.reopen(opened) : opened;
  } catch (cause) {
    throw new NothingSent('The journal entry could not be written.', { cause });
  }
}

function refused(
  { refusal }: Extract<FollowUpOpened, { kind: 'refused' }>,
  { paymentId }: FollowUp,
): Ended {
  const answer = {
    paymentId: refusal.kind === 'payment-not-found' ? null : paymentId,
    decision: refusal,
    attempt: 0,
    firstSeenAt: new Date().toISOString(),
    settledAt: null,
  };
  return { kind: 'released', answer, first: true, payment: null };
}
