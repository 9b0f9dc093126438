import { type Conclusion, concludeEvent, concludeTakenReference } from './conclude.ts';
import type { Outcome } from './outcome.ts';
import type { EntryState, JournalEntry } from './payment.ts';

/** What a PSP tells by itself of one operation of ours, in a message that it has signed. */
export interface PspEvent {
  /** The same for every delivery of one event. */
  readonly eventId: string;
  /** The PSP's own name of what happened. */
  readonly type: string;
  /** The reference that the operation was sent with. */
  readonly reference: string;
  /** Set where the PSP names the payment's first operation and tells of a void of it. */
  readonly operation?: 'VOID';
  readonly outcome: Outcome;
}

/** What an event is to an entry. Each kind but `doubt` also keeps the event. */
export type Reaction =
  /** The entry's outcome. */
  | { readonly kind: 'settle'; readonly conclusion: Conclusion }
  /** The step before a review: states move only along the published graph. */
  | { readonly kind: 'doubt'; readonly conclusion: Conclusion }
  /** It was known. */
  | { readonly kind: 'agree' }
  /** Evidence that moves nothing: it says less than is known, or a person has to decide. */
  | { readonly kind: 'note'; readonly said: Said }
  /** Evidence against an outcome that stays as it is: a person has to look. */
  | { readonly kind: 'contradict'; readonly said: Said }
  /** It does not say enough: the PSP's books are to be asked now. */
  | { readonly kind: 'hurry' };

/** What an event says of an entry, as it is kept. */
export type Said = Pick<Conclusion, 'state' | 'pspReference' | 'reason'>;

const OPEN: ReadonlySet<EntryState> = new Set(['SENDING', 'UNKNOWN', 'PENDING']);

/**
 * The whole rule for events, which come in any order, any number of times, before and after the
 * answer to the call. An outcome is never changed by one, and a lesser word takes nothing back.
 *
 * @param isTaken true if the PSP's reference is that of another payment already
 */
export function reactTo(entry: JournalEntry, event: PspEvent, isTaken: boolean): Reaction {
  const { operation = entry.operation, outcome } = event;
  if (operation !== entry.operation) return { kind: 'hurry' };
  if (outcome.kind === 'pending') {
    return {
      kind: 'note',
      said: { state: 'PENDING', pspReference: outcome.pspReference, reason: null },
    };
  }
  if (outcome.kind !== 'succeeded' && outcome.kind !== 'declined') return { kind: 'hurry' };
  const said = concludeEvent(entry, outcome);
  if (OPEN.has(entry.state)) return settle(entry.state, said, isTaken);
  if (entry.state === 'IN_REVIEW') return { kind: 'note', said };
  return agrees(entry, said) ? { kind: 'agree' } : { kind: 'contradict', said };
}

function settle(state: EntryState, said: Conclusion, isTaken: boolean): Reaction {
  if (said.state === 'SUCCEEDED' && isTaken) {
    const conclusion = concludeTakenReference(state, said);
    return { kind: conclusion.state === 'IN_REVIEW' ? 'settle' : 'doubt', conclusion };
  }
  if (said.state === 'IN_REVIEW' && state === 'SENDING') {
    const conclusion = { ...said, state: 'UNKNOWN', source: null, nextCheckMs: 0 } as const;
    return { kind: 'doubt', conclusion };
  }
  return { kind: 'settle', conclusion: said };
}

/** A second execution under one reference is a contradiction as well. */
function agrees(entry: JournalEntry, said: Conclusion): boolean {
  if (said.state === 'DECLINED') return entry.state !== 'SUCCEEDED';
  const known = entry.pspReference;
  return said.state === entry.state && (known === null || known === said.pspReference);
}
