import {
  isFinal,
  type JournalEntry,
  type Payment,
  type PaymentAnswer,
} from '../../../src/payments/index.ts';
import type { MemoryJournal, Row } from './memory-journal.ts';
import type { Execution, MemoryPsp } from './memory-psp.ts';

export interface Heard {
  readonly key: string;
  readonly fingerprint: string;
  readonly answer: PaymentAnswer;
}

/** A promise that was broken; the message begins with its name. */
export class Broken extends Error {
  override readonly name = 'Broken';
  readonly promise: string;

  constructor(promise: string, what: string) {
    super(`${promise}: ${what}`);
    this.promise = promise;
  }
}

export function hold(promise: string, kept: boolean, what: string): void {
  if (!kept) throw new Broken(promise, what);
}

/** What must hold of every row after every effect. */
export function checkRow({ entry, postings, events }: Row): void {
  const { state, operation, id } = entry;
  const flows = postings.join(' ');
  if (!flowsOf(entry).includes(flows)) {
    throw new Broken('P16', `${id} ${operation} ${state}: ${flows}`);
  }
  const settledEvent = operation !== 'CANCEL' && (state === 'SUCCEEDED' || state === 'DECLINED');
  if (settledEvent && events.at(-1) !== state) {
    throw new Broken('P17', `${id} is ${state}, told ${events}`);
  }
}

/** What may be posted of an entry as it stands. */
function flowsOf({ operation, state, request }: JournalEntry): readonly string[] {
  const refused = state === 'DECLINED' || state === 'FAILED';
  const late = operation === 'REVERSE' && request?.['operation'] === 'CHARGE';
  if (late) return [state === 'SUCCEEDED' ? 'late found' : refused ? 'late not found' : 'late'];
  if (operation === 'CHARGE' || operation === 'CAPTURE') {
    return [state === 'SUCCEEDED' ? 'taken' : ''];
  }
  if (operation !== 'REFUND' || state === 'SENDING') return [''];
  if (state === 'SUCCEEDED') return ['refunded', 'doubted found'];
  return refused ? ['', 'doubted not found'] : ['doubted'];
}

/** What must hold of every payment after every effect: no more is taken or given than there is. */
export function checkPayment(payment: Payment): void {
  const { id, authorizedMinor, capturedMinor, captureReservedMinor } = payment;
  const { refundedMinor, refundReservedMinor, voidReserved, status } = payment;
  const taken = capturedMinor + captureReservedMinor;
  const given = refundedMinor + refundReservedMinor;
  const letGo = voidReserved || status === 'VOIDED';
  const fits = taken <= authorizedMinor && given <= capturedMinor && !(letGo && taken > 0);
  const counts = Math.min(capturedMinor, captureReservedMinor, refundedMinor, refundReservedMinor);
  if (!fits || counts < 0) throw new Broken('P3', `the sums of ${id}: ${JSON.stringify(payment)}`);
}

const NEXT: Readonly<Record<string, readonly string[]>> = {
  SENDING: ['SUCCEEDED', 'DECLINED', 'FAILED', 'UNKNOWN', 'PENDING'],
  UNKNOWN: ['SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW'],
  PENDING: ['SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW'],
};

/** The published graph; FAILED goes on only where it is proven that nothing was sent. */
export function checkMove(before: JournalEntry, after: JournalEntry): void {
  if (before.state === after.state) return;
  const free = before.state === 'FAILED' && before.outcomeSource === 'NOT_SENT';
  const next = free ? ['SENDING'] : NEXT[before.state];
  const allowed = next?.includes(after.state) ?? false;
  if (!allowed) throw new Broken('P6', `${before.id} went from ${before.state} to ${after.state}`);
}

/** What must hold of every key once the faults are over and recovery had its time. */
export function checkEnd(
  journal: MemoryJournal,
  psp: MemoryPsp,
  heard: readonly Heard[],
  mayNeedReview: boolean,
): void {
  const rows = [...journal.rows.values()];
  for (const row of rows) {
    const { entry } = row;
    const key = entry.idempotencyKey;
    const ids = rows.filter((one) => one.entry.idempotencyKey === key).map((one) => one.entry.id);
    const executions = psp.executions.filter(({ reference }) => ids.includes(reference));
    hold('P1', executions.length <= 1, `${executions.length} executions of ${key}`);
    const open = !['SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW'].includes(entry.state);
    const buyers = isWaiting(journal, entry) && !executions.length;
    hold('P10', !open || buyers, `${key} is still ${entry.state}`);
    hold('P10', mayNeedReview || entry.state !== 'IN_REVIEW', `${key}: ${entry.reason}`);
    const booked = entry.state === 'SUCCEEDED' || entry.state === 'IN_REVIEW';
    const stands = executions.some((one) => !isGivenBack(rows, psp, one));
    hold('P5', !stands || booked, `${key} was executed and is ${entry.state}`);
    const mine = heard.filter((one) => one.key === key);
    checkAnswers(key, row, executions, mine, stands);
  }
  checkPayloads(heard);
  const known = new Set(rows.map(({ entry }) => entry.id));
  for (const { reference } of psp.executions) {
    hold('P5', known.has(reference), `no entry for ${reference}`);
  }
  for (const payment of journal.payments.values()) checkSums(payment, rows, psp, mayNeedReview);
}

/** Whatever a key is used for, one payload of it is decided. */
function checkPayloads(heard: readonly Heard[]): void {
  const decided = new Map<string, string>();
  for (const { key, fingerprint, answer } of heard) {
    if (!isFinal(answer.decision) || answer.decision.kind === 'cancelled') continue;
    const first = decided.get(key) ?? fingerprint;
    hold('P8', first === fingerprint, `two payloads of ${key} were decided`);
    decided.set(key, first);
  }
}

/** True if an execution stands in the journal, or has been given back. */
export function isExplained(journal: MemoryJournal, psp: MemoryPsp, one: Execution): boolean {
  const state = journal.byId(one.reference)?.entry.state;
  if (state === 'SUCCEEDED' || state === 'IN_REVIEW') return true;
  return isGivenBack([...journal.rows.values()], psp, one);
}

/** True if all that an open entry waits for is what its buyer does. */
export function isWaiting(journal: MemoryJournal, { state, paymentId }: JournalEntry): boolean {
  if (state === 'PENDING') return true;
  return state === 'UNKNOWN' && journal.payment(paymentId).status === 'REQUIRES_ACTION';
}

/** True if an entry has given back at the PSP what was executed after its refusal, or a person has to. */
function isGivenBack(rows: readonly Row[], psp: MemoryPsp, { charge }: Execution): boolean {
  const reversal = rows.find(
    ({ entry }) => entry.operation === 'REVERSE' && entry.request?.['chargeReference'] === charge,
  );
  if (reversal?.entry.state === 'IN_REVIEW') return true;
  const done = psp.executions.some(({ reference }) => reference === reversal?.entry.id);
  return done && reversal?.entry.state === 'SUCCEEDED';
}

/** The sums of a payment are those of the PSP's books. */
function checkSums(
  payment: Payment,
  rows: readonly Row[],
  psp: MemoryPsp,
  mayNeedReview: boolean,
): void {
  const entries = rows.filter(({ entry }) => entry.paymentId === payment.id);
  if (mayNeedReview && entries.some(({ entry }) => entry.state === 'IN_REVIEW')) return;
  const sent = (kind: Execution['kind']) =>
    psp.executions
      .filter((one) => one.kind === kind && entries.some(({ entry }) => entry.id === one.reference))
      .filter((one) => !isReversal(entries, one) && !isGivenBack(rows, psp, one))
      .reduce((sum, one) => sum + one.amountMinor, 0);
  const theirs = [sent('charge') + sent('capture'), sent('refund')];
  const ours = [payment.capturedMinor, payment.refundedMinor];
  hold('P3', `${theirs}` === `${ours}`, `${payment.id}: the PSP has ${theirs}, we ${ours}`);
}

const isReversal = (rows: readonly Row[], { reference }: Execution) =>
  rows.some(({ entry }) => entry.id === reference && entry.operation === 'REVERSE');

/** What a request is told that wrote nothing: its key may be used with another payload. */
const NOTHING_WRITTEN = new Set([
  'payment-not-found',
  'currency-mismatch',
  'version-conflict',
  'invalid-state',
  'amount-limit',
  'cancelled',
]);
const MOVES_NOTHING = new Set(['CONFIRM', 'CANCEL']);

function checkAnswers(
  key: string,
  { entry }: Row,
  executions: readonly Execution[],
  heard: readonly Heard[],
  stands: boolean,
): void {
  const mine = entry.fingerprint.toString('hex');
  const cancelled = entry.operation === 'CANCEL' || entry.reason === 'cancelled';
  let decided: string | undefined;
  for (const { fingerprint, answer } of heard) {
    const { decision } = answer;
    // Under a cancelled key every request comes to nothing, whatever it was.
    const same = fingerprint === mine || cancelled;
    const free = NOTHING_WRITTEN.has(decision.kind);
    hold('P8', same || free, `${key} answered another payload: ${decision.kind}`);
    if (!isFinal(decision)) continue;
    const text = JSON.stringify(decision);
    hold('P7', decided === undefined || decided === text, `${key}: ${decided}, then ${text}`);
    decided = text;
    if (decision.kind !== 'succeeded') {
      hold('P4', !stands, `${key} was answered ${decision.kind} and executed`);
    } else if (!MOVES_NOTHING.has(entry.operation)) {
      const [execution] = executions;
      const agrees = executions.length === 1 && execution?.amountMinor === entry.amountMinor;
      hold('P3', agrees, `${key} succeeded with ${executions.length} executions`);
    }
  }
}
