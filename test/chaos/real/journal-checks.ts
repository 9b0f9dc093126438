import type { Violation } from './checker.ts';
import { groupBy } from './group-by.ts';
import type { EntryRecord, Evidence } from './records.ts';

type Report = (promise: string, what: string, key?: string) => void;
type Execution = Evidence['executions'][number];

const KINDS: Readonly<Record<string, string>> = {
  CHARGE: 'charge',
  AUTHORIZE: 'authorize',
  CAPTURE: 'capture',
  VOID: 'void',
  REFUND: 'refund',
};
const OPEN: ReadonlySet<string> = new Set(['SENDING', 'UNKNOWN', 'PENDING']);
/** The clocks of two processes of one machine, in ms. */
const CLOCKS_MS = 2;

/** The PSP's books, the journal, the postings and the events, against each other. Pure. */
export function checkJournal(evidence: Evidence): readonly Violation[] {
  const found: Violation[] = [];
  const report: Report = (promise, what, key) =>
    found.push({ promise, what, ...(key === undefined ? {} : { key }) });
  const byReference = groupBy(evidence.executions, ({ reference }) => reference);
  const entries = new Map(evidence.entries.map((entry) => [entry.id, entry]));
  for (const [reference, executions] of byReference) {
    const entry = entries.get(reference);
    if (entry === undefined) report('P2', `an execution of ${reference}, and there is no entry`);
    else checkExecutions(entry, executions, report);
  }
  const postings = groupBy(evidence.postings, ({ entryId }) => entryId);
  const events = groupBy(evidence.outbox, ({ entryId }) => entryId);
  for (const entry of evidence.entries) {
    const executed = byReference.has(entry.id);
    checkEntry(entry, executed, evidence.mayNeedReview, report);
    checkPostings(entry, postings.get(entry.id) ?? [], report);
    checkEvents(
      entry,
      (events.get(entry.id) ?? []).map(({ type }) => type),
      report,
    );
  }
  checkKeys(evidence, entries, report);
  checkPayments(evidence, byReference, report);
  return found;
}

function checkExecutions(
  entry: EntryRecord,
  executions: readonly Execution[],
  report: Report,
): void {
  const { key, operation, amountMinor, currency, createdAt } = entry;
  if (executions.length > 1) report('P1', `${executions.length} executions`, key);
  const [execution] = executions;
  if (execution === undefined) return;
  const agrees =
    execution.kind === KINDS[operation] &&
    execution.amountMinor === amountMinor &&
    execution.currency === currency;
  if (!agrees) report('P3', `${operation} ${amountMinor} ${currency} was executed otherwise`, key);
  if (Date.parse(execution.at) < createdAt - CLOCKS_MS)
    report('P2', 'executed before the entry was written', key);
}

function checkEntry(
  { key, state, source, reason, operation }: EntryRecord,
  executed: boolean,
  mayNeedReview: boolean,
  report: Report,
): void {
  if (OPEN.has(state)) report('P10', `still ${state}`, key);
  const isReview = state === 'IN_REVIEW';
  if (isReview && !(mayNeedReview && reason !== null)) report('P10', `in review: ${reason}`, key);
  if (operation === 'CANCEL' || operation === 'CONFIRM') return;
  if (state === 'SUCCEEDED' && !executed) report('P3', 'succeeded without an execution', key);
  // What the PSP shows too late, a person has to find.
  if (state !== 'SUCCEEDED' && executed && !(isReview && mayNeedReview))
    report(
      state === 'DECLINED' || state === 'FAILED' ? 'P4' : 'P5',
      `${state} (${source}) and executed`,
      key,
    );
}

function checkPostings(
  { key, operation, state, amountMinor, currency }: EntryRecord,
  legs: Evidence['postings'],
  report: Report,
): void {
  if (legs.reduce((sum, { signedMinor }) => sum + signedMinor, 0) !== 0)
    report('P16', 'the postings do not sum to zero', key);
  if (legs.some((leg) => leg.currency !== currency))
    report('P16', 'a posting in another currency', key);
  const sign = operation === 'REFUND' ? -1 : 1;
  const moves = state === 'SUCCEEDED' && ['CHARGE', 'CAPTURE', 'REFUND'].includes(operation);
  const cleared = sumOf(legs, 'psp_clearing');
  if (cleared !== (moves ? sign * amountMinor : 0)) report('P3', `posted ${cleared}`, key);
  const isKnown = !OPEN.has(state) && state !== 'IN_REVIEW';
  if (sumOf(legs, 'refunds_in_doubt') !== 0 && isKnown)
    report('P3', 'a refund that is known is still posted as in doubt', key);
}

function sumOf(legs: Evidence['postings'], account: string): number {
  return legs.reduce((sum, leg) => (leg.account === account ? sum + leg.signedMinor : sum), 0);
}

/** From a state as events tell it (none: being sent) to those it may go on to. */
const WAYS: Readonly<Record<string, readonly string[]>> = {
  sending: ['succeeded', 'declined', 'failed', 'unknown', 'pending'],
  unknown: ['succeeded', 'declined', 'failed', 'pending', 'in_review'],
  pending: ['succeeded', 'declined', 'failed', 'in_review'],
};

function checkEvents(
  { key, state, source, reason, operation }: EntryRecord,
  types: readonly string[],
  report: Report,
): void {
  if (operation === 'CANCEL') return;
  let at = 'sending';
  for (const type of types) {
    const next = type.slice(type.indexOf('.') + 1);
    if (next === 'expired') continue;
    if (!WAYS[at]?.includes(next)) report('P6', `an event from ${at} to ${next}`, key);
    at = next;
  }
  // What never left for the PSP is shown to nobody, and neither is that it was cancelled.
  const unseen = source === 'NOT_SENT' || reason === 'cancelled';
  const untold = state === 'SENDING' || (state === 'FAILED' && unseen);
  if (!untold && at !== state.toLowerCase())
    report('P17', `${state}, and the last event is ${at}`, key);
}

/** One PSP key for each entry, on every attempt. */
function checkKeys(
  { requests }: Evidence,
  entries: ReadonlyMap<string, EntryRecord>,
  report: Report,
): void {
  for (const { method, reference, idempotencyKey } of requests) {
    if (method !== 'POST' || reference === null) continue;
    const entry = entries.get(reference);
    if (entry === undefined) report('P2', `a request for ${reference}, and there is no entry`);
    else if (entry.pspKey !== idempotencyKey)
      report('P15', `sent under ${idempotencyKey}`, entry.key);
  }
}

function checkPayments(
  { payments, entries }: Evidence,
  executions: ReadonlyMap<string, readonly Execution[]>,
  report: Report,
): void {
  const byPayment = groupBy(entries, ({ paymentId }) => paymentId);
  for (const payment of payments) {
    const mine = byPayment.get(payment.id) ?? [];
    const key = mine[0]?.key;
    const sum = (...operations: readonly string[]) =>
      mine
        .filter(({ operation }) => operations.includes(operation))
        .flatMap(({ id }) => executions.get(id) ?? [])
        .reduce((total, { amountMinor }) => total + amountMinor, 0);
    const [authorized, captured, refunded] = [
      sum('CHARGE', 'AUTHORIZE'),
      sum('CHARGE', 'CAPTURE'),
      sum('REFUND'),
    ];
    if (authorized > payment.amountMinor || captured > authorized || refunded > captured)
      report('P1', `${authorized} reserved, ${captured} taken, ${refunded} given back`, key);
    const agrees =
      payment.authorizedMinor === authorized &&
      payment.capturedMinor === captured &&
      payment.refundedMinor === refunded;
    const inReview = mine.some(({ state }) => state === 'IN_REVIEW');
    if (!agrees && !inReview) report('P3', 'the sums of the payment are not those of the PSP', key);
    const open = inReview || mine.some(({ state }) => OPEN.has(state));
    if (payment.reservedMinor !== 0 && !open) report('P10', 'something stays reserved', key);
  }
  checkTransactionIds(payments, report);
}

const FREE: ReadonlySet<string> = new Set(['DECLINED', 'FAILED', 'VOIDED', 'EXPIRED', 'NOT_SENT']);

function checkTransactionIds(payments: Evidence['payments'], report: Report): void {
  const live = payments.filter(
    ({ transactionId, status }) => transactionId !== null && !FREE.has(status),
  );
  const groups = groupBy(live, ({ merchantId, transactionId }) => `${merchantId} ${transactionId}`);
  for (const [name, { length }] of groups) {
    if (length > 1) report('P1', `${length} live payments for ${name}`);
  }
}
