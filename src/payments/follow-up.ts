import type { Ended } from './answer.ts';
import type { FollowUp, FollowUpJournal, FollowUpOpened, Hold } from './ports.ts';
import { resolveDoubt } from './resolve-doubt.ts';
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
      return goOn(deps, opened.hold, await send(deps, opened.hold, startedAt));
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

/**
 * A confirmation lets the payment's first entry come to its outcome: the PSP is asked for that at once.
 * If this fails, recovery asks it, since T2 made the entry due.
 */
async function goOn(deps: FollowUpDeps, hold: Hold, ended: Ended): Promise<Ended> {
  if (hold.entry.operation !== 'CONFIRM' || ended.kind !== 'done') return ended;
  try {
    const startedAt = deps.now();
    const doubt = await deps.followUps.takeOverFirst(hold.payment);
    if (doubt !== undefined) await resolveDoubt(deps, doubt, () => deps.now() - startedAt);
  } catch (error) {
    deps.onUnrecorded?.(error);
  }
  return { ...ended, payment: null };
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
