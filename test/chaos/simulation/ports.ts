import type { Store } from '../../../src/idempotency/index.ts';
import {
  type Conclusion,
  type Found,
  type Hold,
  type Inbox,
  type Journal,
  JournalUnavailable,
  type Outcome,
  type Psp,
} from '../../../src/payments/index.ts';
import type { Doer, Faults } from './faults.ts';
import type { MemoryFollowUps } from './memory-follow-ups.ts';
import type { MemoryJournal } from './memory-journal.ts';
import type { MemoryPsp } from './memory-psp.ts';
import { checkMove, checkPayment, checkRow, hold } from './promises.ts';
import type { Scheduler } from './scheduler.ts';
import type { Ports } from './server.ts';

export interface Shared {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly store: Store;
  /** What the store was last told of each key, for telling states apart. */
  readonly stored: Map<string, string>;
  readonly journal: MemoryJournal;
  readonly more: MemoryFollowUps;
  readonly psp: MemoryPsp;
  readonly keyWindowMs: number;
  readonly settlingMs: number;
}

const NEVER_SENT: Conclusion = {
  state: 'FAILED',
  source: 'NOT_SENT',
  pspReference: null,
  declineCode: null,
  softDecline: null,
  reason: 'the journal did not answer',
  nextCheckMs: null,
  retryAfterMs: null,
};

const TERMINAL = new Set(['SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW']);

/** The shared world as one process reaches it: every call is an effect with its faults. */
export function portsOf(doer: Doer, shared: Shared): Ports {
  const unclear = new Set<string>();
  const { faults, journal, more } = shared;
  const entry = <T>(what: string, act: () => Promise<T>): Promise<T> =>
    faults.effect<T>(doer, what, () => watched(journal, act), unavailable);
  const begin: Begin = <T extends { readonly kind: string }>(what: string, act: () => Promise<T>) =>
    takingBack<T>(shared, doer, (told) => entry(what, async () => told(await act())));
  return {
    store: storeOf(doer, shared),
    journal: journalOf(doer, shared, unclear, entry, begin),
    followUps: {
      open: (asked) => begin('T1', () => more.open(asked)),
      reopen: (recorded) => begin('T1 again', () => more.reopen(recorded)),
      takeOverFirst: (payment) => entry('take over', () => more.takeOverFirst(payment)),
    },
    cancels: { cancel: (intent) => entry('cancel', () => more.cancel(intent)) },
    inbox: inboxOf(shared, entry),
    reversals: {
      open: async (limit, psp) =>
        more.lateOnes(psp).length === 0
          ? []
          : entry('reverse', () => more.openReversals(limit, psp)),
    },
    psp: pspOf(doer, shared, unclear),
    reader: {
      entryByKey: (merchantId, key) =>
        shared.faults.effect(doer, 'read', () => shared.journal.read(merchantId, key), unavailable),
    },
  };
}

type Entry = <T>(what: string, act: () => Promise<T>) => Promise<T>;
type Begin = <T extends { readonly kind: string }>(
  what: string,
  act: () => Promise<T>,
) => Promise<T>;

function unavailable(): never {
  throw new JournalUnavailable('no answer');
}

function storeOf(doer: Doer, { faults, store, stored, scheduler }: Shared): Store {
  const gone = (): never => {
    throw new Error('the store does not answer');
  };
  const told = async <T>(key: string, text: string, act: Promise<T>): Promise<T> => {
    const result = await act;
    const moved = result === true || (result as { kind?: string }).kind === 'run';
    if (moved) stored.set(key, text);
    return result;
  };
  const step = <T>(what: string, key: string, text: string, act: () => Promise<T>): Promise<T> =>
    faults.effect<T>(doer, what, () => told(key, text, act()), gone);
  return {
    claim: (ask, ms) =>
      step('claim', ask.intent.key, `${ask.token} ${scheduler.now()}`, () => store.claim(ask, ms)),
    settle: (lease, text, ms) =>
      step('remember', lease.intent.key, text, () => store.settle(lease, text, ms)),
    release: (lease) => step('release', lease.intent.key, '', () => store.release(lease)),
    wait: (intent, ms) => store.wait(intent, ms),
  };
}

/** T1 whose reply was lost is undone in the background, as the product does. */
async function takingBack<T extends { readonly kind: string }>(
  { faults, journal }: Shared,
  doer: Doer,
  step: (told: (opened: T) => T) => Promise<T>,
): Promise<T> {
  let opened: (T & { readonly hold?: Hold }) | undefined;
  try {
    return await step((answer) => {
      opened = answer;
      return answer;
    });
  } catch (error) {
    const held = opened?.kind === 'opened' ? opened.hold : undefined;
    const undo = () => watched(journal, () => journal.settle(held as Hold, NEVER_SENT));
    if (held !== undefined) faults.effect(doer, 'take back', undo, unavailable).catch(() => {});
    throw error;
  }
}

function journalOf(
  _doer: Doer,
  { journal }: Shared,
  unclear: Set<string>,
  entry: Entry,
  begin: Begin,
): Journal {
  return {
    open: (asked) => begin('T1', () => journal.open(asked)),
    reopen: (recorded) => begin('T1 again', () => journal.reopen(recorded)),
    settle: (held, conclusion) => {
      const ambiguous = unclear.has(held.entry.id) && TERMINAL.has(conclusion.state);
      const review = conclusion.state === 'IN_REVIEW';
      hold('P14', !ambiguous || review, `no answer was taken for ${conclusion.state}`);
      const { id, attempt } = held.entry;
      return entry('T2', async () => {
        const stands = journal.byId(id)?.entry.attempt;
        const settled = await journal.settle(held, conclusion);
        hold('P13', !settled.moved || stands === attempt, `attempt ${attempt} moved ${stands}`);
        return settled;
      });
    },
    // A look that finds nothing is no step at which a fault would matter.
    takeOver: async (limit, psp) =>
      journal.due(psp).length === 0 ? [] : entry('take over', () => journal.takeOver(limit, psp)),
  };
}

function inboxOf({ more, journal }: Shared, entry: Entry): Inbox {
  return {
    find: (letter) => entry('find', () => more.find(letter)),
    keep: (letter, to) =>
      entry('keep', async () => {
        const known = more.letters.has(letter.eventId);
        const seen = journal.observations.length;
        const kept = await more.keep(letter, to);
        const acted = journal.observations.length > seen;
        hold('P7', !(known && acted), `the event ${letter.eventId} was acted on twice`);
        return kept;
      }),
  };
}

/** Does one step of the journal and checks every row that it may have moved. */
async function watched<T>(journal: MemoryJournal, act: () => Promise<T>): Promise<T> {
  const before = [...journal.rows].map(([key, { entry }]) => [key, entry] as const);
  const result = await act();
  for (const [key, was] of before) {
    const row = journal.rows.get(key);
    if (row !== undefined && row.entry !== was) checkMove(was, row.entry);
  }
  for (const row of journal.rows.values()) checkRow(row);
  for (const payment of journal.payments.values()) checkPayment(payment);
  return result;
}

function pspOf(doer: Doer, shared: Shared, unclear: Set<string>): Psp {
  const { faults, psp, scheduler, journal, keyWindowMs, settlingMs } = shared;
  const heard = (reference: string, ambiguous: boolean): void => {
    if (ambiguous) unclear.add(reference);
    else unclear.delete(reference);
  };
  const send = async (what: string, reference: string, ask: () => Outcome): Promise<Outcome> => {
    const row = journal.byId(reference);
    const age = scheduler.now() - (row?.sentAt ?? 0);
    hold('P15', row === undefined || age <= keyWindowMs, `sent again after ${age} ms`);
    const act = (): Outcome => {
      hold('P2', journal.byId(reference) !== undefined, `${reference} sent first`);
      const outcome = ask();
      const keys = psp.keys.get(reference)?.size ?? 0;
      hold('P15', keys <= 1, `${keys} PSP keys for ${reference}`);
      const made = psp.executions.filter((one) => one.reference === reference);
      hold('P1', made.length <= 1, `${made.length} executions of ${reference}`);
      return outcome;
    };
    const lost = (done: boolean): Outcome =>
      done || scheduler.oneIn(2)
        ? { kind: 'unknown', reason: 'timeout' }
        : { kind: 'notSent', reason: 'refused', retryAfterMs: 1_000 };
    const outcome = await faults.effect(doer, what, act, lost);
    heard(reference, outcome.kind === 'unknown');
    return outcome;
  };
  const follow =
    (kind: 'capture' | 'void' | 'refund' | 'confirm'): Psp['capture'] =>
    (one) =>
      send('follow-up', one.reference, () => psp.followUp(kind, one));
  return {
    name: 'model',
    keyWindowMs,
    settlingMs,
    askAgainMs: 60_000,
    charge: (charge) => send('charge', charge.reference, () => psp.charge(charge)),
    capture: follow('capture'),
    void: follow('void'),
    refund: follow('refund'),
    confirm: follow('confirm'),
    find: async (reference) => {
      const found = await faults.effect<Found>(
        doer,
        'look-up',
        () => psp.find(reference),
        () => ({ kind: 'unreachable', reason: 'timeout' }),
      );
      heard(reference, found.kind !== 'found');
      return found;
    },
  };
}
