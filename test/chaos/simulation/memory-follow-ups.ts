import { createHash } from 'node:crypto';
import {
  type CancelIntent,
  type CancelOpened,
  type Doubt,
  type FollowUp,
  type FollowUpOpened,
  type Hold,
  type Inbox,
  isFirst,
  type JournalEntry,
  type Letter,
  type Payment,
  type Reaction,
  type Recorded,
  type Refusal,
  refusalOf,
  resultOf,
  type Target,
} from '../../../src/payments/index.ts';
import type { MemoryJournal } from './memory-journal.ts';
import { newEntry, newPaymentRow, reserved } from './memory-rows.ts';

const AT = new Date(0);

interface Late {
  readonly key: string;
  readonly entry: JournalEntry;
  readonly chargeReference: string;
}

/** Follow-ups, cancelled keys, heard events and reversals over the same rows, each step atomic. */
export class MemoryFollowUps {
  readonly letters = new Map<string, string>();
  readonly #journal: MemoryJournal;

  constructor(journal: MemoryJournal) {
    this.#journal = journal;
  }

  async open(asked: FollowUp): Promise<FollowUpOpened> {
    const key = `${asked.merchantId} ${asked.idempotencyKey}`;
    const standing = this.#journal.rows.get(key);
    if (standing !== undefined) return { kind: 'exists', ...this.#journal.seen(standing) };
    // A payment that was never sent is shown to nobody.
    const there = this.#journal.payments.get(asked.paymentId);
    const payment = there?.status === 'NOT_SENT' ? undefined : there;
    const refusal = refusalOf(payment, asked);
    if (refusal !== undefined || payment === undefined) return refused(refusal);
    const { operation, paymentId, request } = asked;
    const amountMinor = asked.amountMinor ?? remaining(payment, operation);
    const more = { paymentId, operation, amountMinor, currency: payment.currency, request };
    this.#reserve(payment, operation, amountMinor);
    const row = this.#journal.add(key, newEntry(this.#journal.make(), asked, more));
    return { kind: 'opened', hold: this.#journal.holdOf(row) };
  }

  async reopen({ entry: asked }: Recorded): Promise<FollowUpOpened> {
    const row = this.#journal.row(asked.id);
    if (!this.#journal.isFree(row, asked)) return { kind: 'exists', ...this.#journal.seen(row) };
    const payment = this.#journal.payment(asked.paymentId);
    const operation = asked.operation as FollowUp['operation'];
    const refusal = refusalOf(payment, { ...asked, operation, expectedVersion: null });
    if (refusal !== undefined) return refused(refusal);
    this.#reserve(payment, operation, asked.amountMinor, false);
    return { kind: 'opened', hold: this.#journal.again(row) };
  }

  async takeOverFirst(payment: Payment): Promise<Doubt | undefined> {
    const row = this.#journal.rowsOf(payment.id).find(({ entry }) => isFirst(entry.operation));
    const open = row?.entry.state === 'UNKNOWN' || row?.entry.state === 'PENDING';
    const due = row?.dueAt != null && row.dueAt <= this.#journal.now();
    return row !== undefined && open && due ? this.#journal.take(row) : undefined;
  }

  async cancel(intent: CancelIntent): Promise<CancelOpened> {
    const { merchantId, key, idempotencyKey } = intent;
    const own = this.#journal.rows.get(`${merchantId} ${idempotencyKey}`);
    if (own !== undefined) return { kind: 'own', ...this.#journal.seen(own) };
    const found = this.#journal.rows.get(`${merchantId} ${key}`);
    if (found === undefined) {
      const paymentId = this.#hidden(intent);
      this.#place(intent, key, paymentId, null);
      this.#place(intent, idempotencyKey, paymentId, { cancels: key });
      return { kind: 'cancelled', at: AT };
    }
    const { entry } = found;
    const free = entry.state === 'FAILED' && entry.outcomeSource === 'NOT_SENT';
    if (!isFirst(entry.operation) || !free) return { kind: 'exists', ...this.#journal.seen(found) };
    found.entry = { ...entry, outcomeSource: 'OPERATOR', reason: 'cancelled' };
    this.#place(intent, idempotencyKey, entry.paymentId, { cancels: key });
    return { kind: 'cancelled', at: AT };
  }

  async find({ eventId, event }: Letter): ReturnType<Inbox['find']> {
    const isKnown = this.letters.has(eventId);
    const row = event === null ? undefined : this.#journal.byId(event.reference);
    if (row === undefined) return { isKnown };
    const hold = { ...this.#journal.seen(row), ownerToken: row.owner };
    return { isKnown, target: { hold, isTaken: false } };
  }

  async keep(
    letter: Letter,
    to?: { target: Target; reaction: Reaction },
  ): ReturnType<Inbox['keep']> {
    if (to !== undefined && !this.#stands(to.target.hold, to.reaction)) return 'moved on';
    if (this.letters.has(letter.eventId)) return 'known';
    this.letters.set(letter.eventId, to === undefined ? 'NOT_OURS' : resultOf(to.reaction));
    if (to === undefined) return 'kept';
    const { reaction } = to;
    const row = this.#journal.row(to.target.hold.entry.id);
    if (reaction.kind === 'settle') {
      this.#journal.observe(row, reaction.conclusion);
      this.#journal.conclude(row, reaction.conclusion);
    } else if ('said' in reaction) this.#journal.observe(row, reaction.said);
    if (reaction.kind === 'hurry') this.#hurry(row.entry.paymentId);
    return 'kept';
  }

  async openReversals(limit: number, psp: string): Promise<readonly Hold[]> {
    const late = new Map(this.lateOnes(psp).map((one) => [one.key, one]));
    return [...late.values()].slice(0, limit).map((one) => this.#reverse(one));
  }

  /** Evidence of executions under refused entries that nobody gives back yet. */
  lateOnes(psp: string): Late[] {
    const late: Late[] = [];
    for (const { entryId, state, pspReference } of this.#journal.observations) {
      if (state !== 'SUCCEEDED' || pspReference === null) continue;
      const { entry } = this.#journal.row(entryId);
      const refused = entry.state === 'DECLINED' || entry.state === 'FAILED';
      const ours = refused && entry.outcomeSource !== 'NOT_SENT' && entry.psp === psp;
      const key = `${entry.merchantId} reverse ${pspReference}`;
      if (!ours || !isFirst(entry.operation) || this.#journal.rows.has(key)) continue;
      late.push({ key, entry, chargeReference: pspReference });
    }
    return late;
  }

  describe(): string {
    return JSON.stringify([...this.letters]);
  }

  #reverse({ key, entry: late, chargeReference }: Late): Hold {
    const { operation, paymentId, amountMinor, currency } = late;
    const idempotencyKey = `reverse ${chargeReference}`;
    const digest = createHash('sha256').update(idempotencyKey).digest();
    const asked = { ...late, idempotencyKey, fingerprint: { version: 1, digest } };
    const request = { operation, chargeReference };
    const more = { paymentId, operation: 'REVERSE', amountMinor, currency, request } as const;
    const row = this.#journal.add(key, newEntry(this.#journal.make(), asked, more));
    row.dueAt = row.leaseUntil;
    if (operation === 'CHARGE') row.postings.push('late');
    return this.#journal.holdOf(row);
  }

  /** True if the entry is as it was read: the guard of the statement. */
  #stands(hold: Hold, { kind }: Reaction): boolean {
    const row = this.#journal.row(hold.entry.id);
    if (row.entry.state !== hold.entry.state) return false;
    if (kind !== 'settle') return true;
    return row.owner === hold.ownerToken && row.entry.attempt === hold.entry.attempt;
  }

  #hurry(paymentId: string): void {
    const now = this.#journal.now();
    for (const row of this.#journal.rowsOf(paymentId)) {
      const open = row.entry.state === 'UNKNOWN' || row.entry.state === 'PENDING';
      if (open && row.leaseUntil <= now) row.dueAt = now;
    }
  }

  #reserve(payment: Payment, operation: FollowUp['operation'], minor: number, counts = true): void {
    const version = payment.version + (counts ? 1 : 0);
    this.#journal.payments.set(payment.id, { ...reserved(payment, operation, minor), version });
  }

  #hidden(intent: CancelIntent): string {
    const id = `payment-${this.#journal.make()}`;
    const { merchantId, idempotencyKey, fingerprint, psp } = intent;
    const asked = { merchantId, idempotencyKey, fingerprint, psp, amountMinor: 0, currency: 'XXX' };
    const nothing = { paymentMethod: '', transactionId: null, description: null, metadata: null };
    const payment = newPaymentRow(id, { ...asked, ...nothing });
    this.#journal.payments.set(id, { ...payment, status: 'NOT_SENT', psp: null });
    return id;
  }

  #place(
    intent: CancelIntent,
    idempotencyKey: string,
    paymentId: string,
    request: Readonly<Record<string, unknown>> | null,
  ): void {
    const nothing = { operation: 'CANCEL', amountMinor: 0, currency: 'XXX' } as const;
    const done = { state: 'SUCCEEDED', outcomeSource: 'OPERATOR', settledAt: AT } as const;
    const more = { ...nothing, ...done, paymentId, request };
    const entry = newEntry(this.#journal.make(), { ...intent, idempotencyKey }, more);
    const row = this.#journal.add(`${intent.merchantId} ${idempotencyKey}`, entry);
    row.dueAt = null;
    row.leaseUntil = this.#journal.now();
  }
}

function remaining(payment: Payment, operation: FollowUp['operation']): number {
  const { amountMinor, authorizedMinor, capturedMinor, captureReservedMinor } = payment;
  switch (operation) {
    case 'CAPTURE':
      return authorizedMinor - capturedMinor - captureReservedMinor;
    case 'VOID':
      return authorizedMinor;
    case 'CONFIRM':
      return amountMinor;
    case 'REFUND':
      return capturedMinor - payment.refundedMinor - payment.refundReservedMinor;
  }
}

function refused(refusal: Refusal | undefined): FollowUpOpened {
  return { kind: 'refused', refusal: refusal ?? { kind: 'payment-not-found' } };
}
