import { type PaymentProblem, type Refusal, unreachable } from '../client/index.ts';
import type { PaymentOutcome, Shown } from './attempt.ts';

export type Tone = 'quiet' | 'busy' | 'good' | 'warning' | 'bad';

/** What the page can offer to do. */
export type Action = 'goOn' | 'lookUp' | 'startOver' | 'choose';

/** An outcome in plain words. */
export interface Words {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
  readonly action?: { readonly does: Action; readonly label: string };
}

type Problem = PaymentProblem | Refusal;

/** What happened, for somebody who only wants to pay. Pure. */
export function wordsFor({ work, outcome }: Shown): Words {
  if (work === 'paying' && outcome?.kind !== 'processing') return PAYING;
  if (outcome === undefined) return work === 'asking' ? ASKING : NOTHING_YET;
  switch (outcome.kind) {
    case 'settled':
      return settled(outcome);
    case 'declined':
      return declined(outcome.problem);
    case 'rejected':
      return rejected(outcome.problem);
    case 'processing':
      return processing(outcome.problem);
    case 'unknown':
      return UNKNOWN;
    case 'blocked':
      return BLOCKED;
    default:
      return unreachable(outcome);
  }
}

const NOTHING_YET: Words = {
  tone: 'quiet',
  title: 'Not paid yet',
  text: 'Press Pay. Press it twice if you like.',
};
const PAYING: Words = {
  tone: 'busy',
  title: 'Paying…',
  text: 'Press again, reload, open a second tab: it stays one payment.',
};
const ASKING: Words = {
  tone: 'busy',
  title: 'Asking what became of it…',
  text: 'A payment of this cart was under way. Nothing is sent by asking.',
};
const UNKNOWN: Words = {
  tone: 'warning',
  title: 'Connection lost',
  text: 'Nobody here knows yet whether you were charged. Checking again cannot charge twice.',
  action: { does: 'goOn', label: 'Check again' },
};
const BLOCKED: Words = {
  tone: 'warning',
  title: 'An earlier payment is open',
  text: 'This cart has a payment by another method whose outcome is not known. It has to be settled first; nothing was sent now.',
  action: { does: 'goOn', label: 'Settle the earlier one' },
};

function settled({ replayed }: Extract<PaymentOutcome, { kind: 'settled' }>): Words {
  return {
    tone: 'good',
    title: 'Paid',
    text: replayed
      ? 'This is your earlier payment. Nothing was charged again.'
      : 'You were charged once. Press Pay again and see.',
    action: { does: 'startOver', label: 'Start a new order' },
  };
}

function declined({ code, declineCode, soft }: PaymentProblem): Words {
  const why =
    declineCode === 'insufficient_funds'
      ? 'There is not enough money on the account.'
      : code === 'PAYMENT_FAILED'
        ? 'The bank cannot do this payment.'
        : 'The bank refused this payment.';
  const later = soft ? ' The same method may work later.' : '';
  return {
    tone: 'bad',
    title: 'Declined',
    text: `${why} No money moved.${later} Your next press is a new attempt with a new key.`,
    action: { does: 'choose', label: 'Choose another method' },
  };
}

function processing(problem: Problem | undefined): Words {
  const ask = { does: 'lookUp', label: 'Ask now' } as const;
  switch (problem?.code) {
    case 'OUTCOME_UNKNOWN':
      return {
        tone: 'busy',
        title: 'Finding out',
        text: 'The bank may have charged you and did not say so. The server asks it; this page updates by itself.',
        action: ask,
      };
    case 'IN_REVIEW':
      return {
        tone: 'warning',
        title: 'A person has to look',
        text: 'What the bank did is not what it was asked to do. Nobody guesses, and nothing is charged again.',
        action: ask,
      };
    default:
      return {
        tone: 'busy',
        title: 'Still working',
        text: 'The bank has not decided yet. This page updates by itself.',
        action: ask,
      };
  }
}

function rejected({ code, message }: Problem): Words {
  switch (code) {
    case 'SCOPE_SETTLED':
      return {
        tone: 'good',
        title: 'Paid already',
        text: 'This cart was paid with another method. Nothing was sent now.',
        action: { does: 'lookUp', label: 'Show that payment' },
      };
    case 'NOT_RECEIVED':
      return {
        tone: 'warning',
        title: 'Not received',
        text: 'The server has no trace of this payment. Press Pay: should the first try still arrive, the two are one.',
      };
    case 'PSP_UNAVAILABLE':
    case 'PAYMENT_FAILED':
      return {
        tone: 'warning',
        title: 'The bank was not reached',
        text: 'Nothing was charged. Press Pay to try again.',
      };
    default:
      return { tone: 'bad', title: 'Not accepted', text: `${message} (${code})` };
  }
}
