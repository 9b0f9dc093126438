import { type Hold, type Journal, JournalUnavailable } from './ports.ts';
import { type PspEvent, type Reaction, reactTo } from './react.ts';

/** An event as it came to the address of one PSP. */
export interface Letter {
  readonly psp: string;
  readonly eventId: string;
  readonly type: string;
  /** SHA-256 of the body as it came. */
  readonly digest: Buffer;
  /** Null if it is about nothing that we ever sent. */
  readonly event: PspEvent | null;
}

/** What came of an event, as it is kept. */
export type Kept =
  | 'SETTLED'
  | 'IN_REVIEW'
  | 'AGREED'
  | 'NOTED'
  | 'CONTRADICTED'
  | 'HURRIED'
  | 'NOT_OURS'
  | 'IGNORED';

/** What an event is about: the entry, and the proof of how it was when it was read. */
export interface Target {
  readonly hold: Hold;
  /** True if the event's PSP reference is that of another payment of the merchant. */
  readonly isTaken: boolean;
}

/** Events that were heard, each once. Throws `JournalUnavailable`. */
export interface Inbox {
  /**
   * Whether the event is kept already, and the entry that it is about: by our reference and the PSP's
   * name alone. Whose it is the entry says.
   */
  find(letter: Letter): Promise<{ readonly isKnown: boolean; readonly target?: Target }>;
  /**
   * Keeps the event together with what it does, in one commit.
   *
   * @returns `moved on` if the entry is no longer as it was read, `known` if the event is kept
   * already: then nothing was written
   */
  keep(letter: Letter, to?: { target: Target; reaction: Reaction }): Promise<Keeping>;
}

export type Keeping = 'kept' | 'known' | 'moved on';

export interface HearDeps {
  readonly inbox: Inbox;
  readonly journal: Journal;
}

export interface Heard {
  /** `UNKNOWN`: it names what might be an entry of ours and is none (yet). Nothing was kept. */
  readonly result: Kept | 'DUPLICATE' | 'UNKNOWN';
  /** The entry before the event, if it is about one. */
  readonly entry: Hold['entry'] | null;
}

/** What references of ours look like: an entry's id. */
const REFERENCE = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** An entry moves a few times in its life; more losses than this are a database in trouble. */
const MOST_TRIES = 6;

/**
 * Acts on one signed event: T2 by whoever comes first, the answer to the call, recovery or this. It
 * returns once the event and its effect are committed, so that a PSP that is answered after it need
 * not tell again; whatever is thrown, the PSP has to.
 *
 * @throws JournalUnavailable if it could not be written
 */
export async function hearEvent(deps: HearDeps, letter: Letter): Promise<Heard> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const { isKnown, target } = await deps.inbox.find(letter);
    const entry = target?.hold.entry ?? null;
    if (isKnown) return { result: 'DUPLICATE', entry };
    const heard = await act(deps, letter, target);
    if (heard !== undefined) return { result: heard, entry };
  }
  throw new JournalUnavailable('The entry moved each time it was about to be written.');
}

/** @returns undefined if the entry is to be read again */
async function act(
  { inbox, journal }: HearDeps,
  letter: Letter,
  target: Target | undefined,
): Promise<Heard['result'] | undefined> {
  const { event } = letter;
  if (event === null || target === undefined) {
    // A database that is behind (put back, failed over) may know it soon: the PSP is to tell again.
    if (event !== null && REFERENCE.test(event.reference)) return 'UNKNOWN';
    const kept = await inbox.keep(letter);
    return kept === 'known' ? 'DUPLICATE' : event === null ? 'IGNORED' : 'NOT_OURS';
  }
  const reaction = reactTo(target.hold.entry, event, target.isTaken);
  if (reaction.kind === 'doubt') {
    await journal.settle(target.hold, reaction.conclusion);
    return undefined;
  }
  const kept = await inbox.keep(letter, { target, reaction });
  if (kept === 'moved on') return undefined;
  return kept === 'known' ? 'DUPLICATE' : resultOf(reaction);
}

/** The word under which a reaction is kept. */
export function resultOf(reaction: Reaction): Kept {
  switch (reaction.kind) {
    case 'settle':
      return reaction.conclusion.state === 'IN_REVIEW' ? 'IN_REVIEW' : 'SETTLED';
    case 'agree':
      return 'AGREED';
    case 'note':
      return 'NOTED';
    case 'contradict':
      return 'CONTRADICTED';
    case 'doubt':
    case 'hurry':
      return 'HURRIED';
  }
}
