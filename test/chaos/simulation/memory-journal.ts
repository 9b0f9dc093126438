import {
  type Conclusion,
  type Doubt,
  type Hold,
  isFirst,
  type Journal,
  type JournalEntry,
  type NewPayment,
  type Opened,
  type Payment,
  type Recorded,
  type Settled,
  statusAfter,
} from '../../../src/payments/index.ts';
import {
  firstOf,
  flowOf,
  newEntry,
  newPaymentRow,
  type Observation,
  type Row,
  reserved,
} from './memory-rows.ts';

export type { Row } from './memory-rows.ts';

export interface MemoryJournalOptions {
  readonly now: () => number;
  readonly leaseMs: number;
  readonly recoverAfterMs: number;
  readonly recoveryLeaseMs: number;
}

/**
 * The journal's rules for payments without a transaction id, in memory; each method is one atomic step.
 * A contract suite holds it against Postgres.
 */
export class MemoryJournal implements Journal {
  readonly rows = new Map<string, Row>();
  readonly payments = new Map<string, Payment>();
  readonly observations: Observation[] = [];
  readonly #options: MemoryJournalOptions;
  readonly #byId = new Map<string, Row>();
  #made = 0;

  constructor(options: MemoryJournalOptions) {
    this.#options = options;
  }

  async open(asked: NewPayment): Promise<Opened> {
    const key = [asked.merchantId, asked.idempotencyKey].join(' ');
    const standing = this.rows.get(key);
    if (standing !== undefined) return { kind: 'exists', ...this.seen(standing) };
    const made = this.make();
    const paymentId = `payment-${made}`;
    this.payments.set(paymentId, newPaymentRow(paymentId, asked));
    const { amountMinor, currency } = asked;
    const more = { paymentId, operation: firstOf(asked), amountMinor, currency };
    return { kind: 'opened', hold: this.holdOf(this.add(key, newEntry(made, asked, more))) };
  }

  async reopen({ entry: asked }: Recorded): Promise<Opened> {
    const row = this.row(asked.id);
    if (!this.isFree(row, asked)) return { kind: 'exists', ...this.seen(row) };
    return { kind: 'opened', hold: this.again(row) };
  }

  async settle(hold: Hold, conclusion: Conclusion): Promise<Settled> {
    const row = this.row(hold.entry.id);
    const ours = row.owner === hold.ownerToken && row.entry.attempt === hold.entry.attempt;
    if (!ours || row.entry.state !== hold.entry.state) {
      const same = ours && row.entry.state === conclusion.state;
      const says = conclusion.source !== null && conclusion.source !== 'NOT_SENT';
      if (says && !same) this.observe(row, conclusion);
      return { ...this.seen(row), moved: same };
    }
    this.conclude(row, conclusion);
    return { ...this.seen(row), moved: true };
  }

  async takeOver(limit: number, psp: string): Promise<readonly Doubt[]> {
    const due = this.due(psp).sort((one, other) => (one.dueAt ?? 0) - (other.dueAt ?? 0));
    return due.slice(0, limit).map((row) => this.take(row));
  }

  due(psp: string): Row[] {
    const now = this.now();
    return [...this.rows.values()].filter(
      ({ dueAt, entry }) => dueAt !== null && dueAt <= now && entry.psp === psp,
    );
  }

  read(merchantId: string, key: string): Recorded | undefined {
    const row = this.rows.get(`${merchantId} ${key}`);
    return row === undefined ? undefined : this.seen(row);
  }

  byId(entryId: string): Row | undefined {
    return this.#byId.get(entryId);
  }

  describe(): string {
    const rows = [...this.rows.values()].map((row) => ({ ...row, entry: brief(row.entry) }));
    return JSON.stringify([rows, [...this.payments.values()], this.observations]);
  }

  // What follows are the steps that the rest of the model is made of.

  now(): number {
    return this.#options.now();
  }

  make(): number {
    this.#made += 1;
    return this.#made;
  }

  add(key: string, entry: JournalEntry): Row {
    const row: Row = { entry, ...this.#lease(), checks: 0, postings: [], events: [] };
    this.rows.set(key, row);
    this.#byId.set(entry.id, row);
    return row;
  }

  isFree({ entry }: Row, asked: JournalEntry): boolean {
    const free = entry.state === 'FAILED' && entry.outcomeSource === 'NOT_SENT';
    return free && entry.attempt === asked.attempt;
  }

  again(row: Row): Hold {
    Object.assign(row, this.#lease(), { checks: 0 });
    const { entry } = row;
    const attempt = entry.attempt + 1;
    row.entry = { ...entry, state: 'SENDING', attempt, outcomeSource: null };
    row.entry = { ...row.entry, reason: null, settledAt: null };
    this.#status(row, entry.state, false);
    return this.holdOf(row);
  }

  take(row: Row): Doubt {
    const now = this.now();
    const { checks, entry } = row;
    const wasSending = entry.state === 'SENDING';
    row.checks += 1;
    row.owner = this.#token();
    row.leaseUntil = now + this.#options.recoveryLeaseMs;
    row.dueAt = row.leaseUntil;
    const state = wasSending ? 'UNKNOWN' : entry.state;
    row.entry = { ...entry, attempt: entry.attempt + 1, state };
    this.#status(row, entry.state, false);
    if (wasSending) row.events.push('UNKNOWN');
    if (wasSending && entry.operation === 'REFUND') row.postings.push('doubted');
    return { ...this.seen(row), ownerToken: row.owner, ageMs: now - row.sentAt, checks };
  }

  /** T2, once it is known that the row may be moved. */
  conclude(row: Row, conclusion: Conclusion): void {
    const now = this.now();
    const { state, source, nextCheckMs } = conclusion;
    const from = row.entry.state;
    const ended = state === 'SUCCEEDED' || state === 'DECLINED' || state === 'FAILED';
    row.leaseUntil = now;
    row.dueAt = nextCheckMs === null ? null : now + nextCheckMs;
    row.entry = {
      ...row.entry,
      state,
      outcomeSource: source,
      reason: conclusion.reason,
      pspReference: row.entry.pspReference ?? conclusion.pspReference,
      declineCode: conclusion.declineCode,
      softDecline: conclusion.softDecline,
      settledAt: ended ? new Date(now) : null,
    };
    this.#sums(row, ended);
    const changed = this.#status(row, from, true, conclusion.nextActionUrl);
    const flow = flowOf(from, row.entry);
    if (flow !== undefined) row.postings.push(flow);
    if (changed && source !== 'NOT_SENT') row.events.push(this.#eventOf(row.entry));
    if (row.entry.operation === 'CONFIRM' && ended) this.#hurryFirst(row.entry.paymentId);
  }

  observe({ entry }: Row, said: Pick<Conclusion, 'state' | 'pspReference'>): void {
    const { state, pspReference } = said;
    this.observations.push({ entryId: entry.id, state, pspReference });
  }

  row(entryId: string): Row {
    const row = this.byId(entryId);
    if (row === undefined) throw new Error(`There is no entry ${entryId}.`);
    return row;
  }

  payment(id: string): Payment {
    const payment = this.payments.get(id);
    if (payment === undefined) throw new Error(`There is no payment ${id}.`);
    return payment;
  }

  rowsOf(paymentId: string): readonly Row[] {
    return [...this.rows.values()].filter(({ entry }) => entry.paymentId === paymentId);
  }

  seen(row: Row): Recorded {
    const leaseLeftMs = Math.max(0, row.leaseUntil - this.now());
    return { entry: { ...row.entry, leaseLeftMs }, payment: this.payment(row.entry.paymentId) };
  }

  holdOf({ entry, owner }: Row): Hold {
    return { entry, payment: this.payment(entry.paymentId), ownerToken: owner };
  }

  #sums({ entry }: Row, ended: boolean): void {
    const { operation, amountMinor, state } = entry;
    const minor = state === 'SUCCEEDED' ? amountMinor : 0;
    const was = this.payment(entry.paymentId);
    const freed = ended && !isFirst(operation) ? reserved(was, operation, -amountMinor) : was;
    this.payments.set(was.id, {
      ...freed,
      authorizedMinor: was.authorizedMinor + (isFirst(operation) ? minor : 0),
      capturedMinor:
        was.capturedMinor + (operation === 'CHARGE' || operation === 'CAPTURE' ? minor : 0),
      refundedMinor: was.refundedMinor + (operation === 'REFUND' ? minor : 0),
      pspReference: isFirst(operation)
        ? (was.pspReference ?? entry.pspReference)
        : was.pspReference,
    });
  }

  /** T2 alone says where the buyer has to go, and moves the status by a follow-up. True if something moved. */
  #status(
    { entry }: Row,
    from: string,
    concludes: boolean,
    url: string | null | undefined = null,
  ): boolean {
    const { operation, state, outcomeSource } = entry;
    const payment = this.payment(entry.paymentId);
    const first = isFirst(operation);
    const open = state === 'UNKNOWN' || state === 'PENDING';
    const told = url === undefined && open ? payment.nextActionUrl : (url ?? null);
    const nextActionUrl = first && concludes ? told : payment.nextActionUrl;
    const followed = concludes ? statusBy(payment, operation, state) : payment.status;
    const status = first ? statusAfter(operation, state, outcomeSource, nextActionUrl) : followed;
    const changed = from !== state || (first && from === 'UNKNOWN' && status !== payment.status);
    const version = payment.version + (changed ? 1 : 0);
    this.payments.set(payment.id, { ...payment, status, version, nextActionUrl });
    return changed;
  }

  #eventOf({ operation, state, paymentId }: JournalEntry): string {
    const waits = isFirst(operation) && this.payment(paymentId).status === 'REQUIRES_ACTION';
    return waits ? 'PENDING' : state;
  }

  #hurryFirst(paymentId: string): void {
    for (const row of this.rowsOf(paymentId)) {
      const open = row.entry.state === 'UNKNOWN' || row.entry.state === 'PENDING';
      if (!isFirst(row.entry.operation) || !open) continue;
      row.dueAt = this.now();
      row.checks = 0;
    }
  }

  #lease() {
    const now = this.now();
    const { leaseMs, recoverAfterMs } = this.#options;
    const owner = this.#token();
    return { owner, leaseUntil: now + leaseMs, dueAt: now + recoverAfterMs, sentAt: now };
  }

  #token(): string {
    return `owner-${this.make()}`;
  }
}

/** The payment's status after a follow-up of it moved. */
function statusBy(payment: Payment, operation: string, state: string): Payment['status'] {
  const { authorizedMinor, capturedMinor, refundedMinor, captureReservedMinor } = payment;
  if (operation === 'VOID' && state === 'SUCCEEDED') return 'VOIDED';
  if (operation === 'CONFIRM' || capturedMinor === 0) return payment.status;
  if (refundedMinor === 0) {
    return capturedMinor < authorizedMinor ? 'PARTIALLY_CAPTURED' : 'CAPTURED';
  }
  const whole = refundedMinor === capturedMinor && captureReservedMinor === 0;
  return whole ? 'REFUNDED' : 'PARTIALLY_REFUNDED';
}

/** What of an entry can change, for telling states apart. */
const brief = ({ id, state, attempt, outcomeSource, pspReference }: JournalEntry) =>
  `${id} ${state} ${attempt} ${outcomeSource} ${pspReference}`;
