import type { Store } from '../../../src/idempotency/index.ts';
import {
  type Charge,
  type Conclusion,
  type Found,
  type Hold,
  type Journal,
  JournalUnavailable,
  type Opened,
  type Outcome,
  type Psp,
} from '../../../src/payments/index.ts';
import { chargesOnly } from '../../support/charges-only.ts';
import type { Doer, Faults } from './faults.ts';
import type { MemoryJournal } from './memory-journal.ts';
import type { MemoryPsp } from './memory-psp.ts';
import { checkMove, checkRow, hold } from './promises.ts';
import type { Scheduler } from './scheduler.ts';
import type { Ports } from './server.ts';

export interface Shared {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly store: Store;
  /** What the store was last told of each key, for telling states apart. */
  readonly stored: Map<string, string>;
  readonly journal: MemoryJournal;
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
  return {
    store: storeOf(doer, shared),
    journal: journalOf(doer, shared, unclear),
    psp: pspOf(doer, shared, unclear),
    reader: {
      entryByKey: (merchantId, key) =>
        shared.faults.effect(doer, 'read', () => shared.journal.read(merchantId, key), unavailable),
    },
  };
}

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

function journalOf(doer: Doer, shared: Shared, unclear: Set<string>): Journal {
  const { faults, journal } = shared;
  const step = <T>(what: string, act: () => Promise<T>): Promise<T> =>
    faults.effect<T>(doer, what, () => watched(journal, act), unavailable);
  const begin = async (what: string, act: () => Promise<Opened>): Promise<Opened> => {
    let opened: Opened | undefined;
    try {
      return await step(what, async () => {
        opened = await act();
        return opened;
      });
    } catch (error) {
      if (opened?.kind === 'opened') takeBack(opened.hold);
      throw error;
    }
  };
  const takeBack = (held: Hold): void => {
    step('take back', () => journal.settle(held, NEVER_SENT)).catch(() => {});
  };
  return {
    open: (asked) => begin('T1', () => journal.open(asked)),
    reopen: (recorded) => begin('T1 again', () => journal.reopen(recorded)),
    settle: (held, conclusion) => {
      const ambiguous = unclear.has(held.entry.id) && TERMINAL.has(conclusion.state);
      const review = conclusion.state === 'IN_REVIEW';
      hold('P14', !ambiguous || review, `no answer was taken for ${conclusion.state}`);
      const { id, attempt } = held.entry;
      return step('T2', async () => {
        const stands = journal.byId(id)?.entry.attempt;
        const settled = await journal.settle(held, conclusion);
        hold('P13', !settled.moved || stands === attempt, `attempt ${attempt} moved ${stands}`);
        return settled;
      });
    },
    takeOver: (limit, psp) => step('take over', () => journal.takeOver(limit, psp)),
  };
}

/** Does one step of the journal and checks every row that it may have moved. */
async function watched<T>(journal: MemoryJournal, act: () => Promise<T>): Promise<T> {
  const before = new Map([...journal.rows].map(([key, { entry }]) => [key, entry]));
  const result = await act();
  for (const [key, row] of journal.rows) {
    const was = before.get(key);
    if (was !== undefined) checkMove(was, row.entry);
    checkRow(row);
  }
  return result;
}

function pspOf(doer: Doer, shared: Shared, unclear: Set<string>): Psp {
  const { faults, psp, scheduler, journal, keyWindowMs, settlingMs } = shared;
  const heard = (reference: string, ambiguous: boolean): void => {
    if (ambiguous) unclear.add(reference);
    else unclear.delete(reference);
  };
  return {
    ...chargesOnly,
    name: 'model',
    keyWindowMs,
    settlingMs,
    charge: async (charge: Charge) => {
      const row = journal.byId(charge.reference);
      const age = scheduler.now() - (row?.sentAt ?? 0);
      hold('P15', row === undefined || age <= keyWindowMs, `sent again after ${age} ms`);
      const act = (): Outcome => {
        hold('P2', journal.byId(charge.reference) !== undefined, `${charge.reference} sent first`);
        const outcome = psp.charge(charge);
        const keys = psp.keys.get(charge.reference)?.size ?? 0;
        hold('P15', keys <= 1, `${keys} PSP keys for ${charge.reference}`);
        const made = psp.executions.filter(({ reference }) => reference === charge.reference);
        hold('P1', made.length <= 1, `${made.length} executions of ${charge.reference}`);
        return outcome;
      };
      const lost = (done: boolean): Outcome =>
        done || scheduler.oneIn(2)
          ? { kind: 'unknown', reason: 'timeout' }
          : { kind: 'notSent', reason: 'refused', retryAfterMs: 1_000 };
      const outcome = await faults.effect(doer, 'charge', act, lost);
      heard(charge.reference, outcome.kind === 'unknown');
      return outcome;
    },
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
