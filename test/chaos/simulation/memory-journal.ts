import {
  type Conclusion,
  type Doubt,
  type Hold,
  type Journal,
  type JournalEntry,
  type NewPayment,
  type Opened,
  type Payment,
  type Recorded,
  type Settled,
  statusAfter,
} from '../../../src/payments/index.ts';

export interface MemoryJournalOptions {
  readonly now: () => number;
  readonly leaseMs: number;
  readonly recoverAfterMs: number;
  readonly recoveryLeaseMs: number;
}

/** An entry and what only the journal itself knows of it. */
export interface Row {
  entry: JournalEntry;
  payment: Payment;
  owner: string;
  leaseUntil: number;
  dueAt: number | null;
  sentAt: number;
  checks: number;
  /** One for each balanced set that was posted: its amount. */
  readonly postings: number[];
  /** The states of its events, in order. */
  readonly events: string[];
}

const AT = new Date(0);

/**
 * The journal's rules for charges without a transaction id, in memory; each method is one atomic
 * step. A contract suite holds it against Postgres.
 */
export class MemoryJournal implements Journal {
  readonly rows = new Map<string, Row>();
  readonly observations: { readonly entryId: string; readonly state: string }[] = [];
  readonly #options: MemoryJournalOptions;
  #made = 0;

  constructor(options: MemoryJournalOptions) {
    this.#options = options;
  }

  async open(asked: NewPayment): Promise<Opened> {
    const key = [asked.merchantId, asked.idempotencyKey].join(' ');
    const standing = this.rows.get(key);
    if (standing !== undefined) return { kind: 'exists', ...this.#seen(standing) };
    this.#made += 1;
    const recorded = newRecorded(asked, this.#made);
    const row: Row = { ...recorded, ...this.#lease(), checks: 0, postings: [], events: [] };
    this.rows.set(key, row);
    return { kind: 'opened', hold: holdOf(row) };
  }

  async reopen({ entry: asked }: Recorded): Promise<Opened> {
    const row = this.#row(asked.id);
    const { entry } = row;
    const free = entry.state === 'FAILED' && entry.outcomeSource === 'NOT_SENT';
    if (!free || entry.attempt !== asked.attempt) return { kind: 'exists', ...this.#seen(row) };
    Object.assign(row, this.#lease(), { checks: 0 });
    this.#move(row, {
      state: 'SENDING',
      attempt: entry.attempt + 1,
      outcomeSource: null,
      reason: null,
      settledAt: null,
    });
    return { kind: 'opened', hold: holdOf(row) };
  }

  async settle(hold: Hold, conclusion: Conclusion): Promise<Settled> {
    const row = this.#row(hold.entry.id);
    const ours = row.owner === hold.ownerToken && row.entry.attempt === hold.entry.attempt;
    if (!ours || row.entry.state !== hold.entry.state) {
      const same = ours && row.entry.state === conclusion.state;
      const says = conclusion.state !== 'UNKNOWN' && conclusion.source !== 'NOT_SENT';
      if (says && !same) {
        this.observations.push({ entryId: row.entry.id, state: conclusion.state });
      }
      return { ...this.#seen(row), moved: same };
    }
    const now = this.#options.now();
    const { state, source, nextCheckMs } = conclusion;
    const ended = state === 'SUCCEEDED' || state === 'DECLINED' || state === 'FAILED';
    const changed = state !== row.entry.state;
    row.leaseUntil = now;
    row.dueAt = nextCheckMs === null ? null : now + nextCheckMs;
    this.#move(row, {
      state,
      outcomeSource: source,
      reason: conclusion.reason,
      pspReference: row.entry.pspReference ?? conclusion.pspReference,
      declineCode: conclusion.declineCode,
      softDecline: conclusion.softDecline,
      settledAt: ended ? new Date(now) : null,
    });
    if (state === 'SUCCEEDED') row.postings.push(row.entry.amountMinor);
    if (changed && source !== 'NOT_SENT') row.events.push(state);
    return { ...this.#seen(row), moved: true };
  }

  async takeOver(limit: number, psp: string): Promise<readonly Doubt[]> {
    const now = this.#options.now();
    const due = [...this.rows.values()].filter(
      ({ dueAt, entry }) => dueAt !== null && dueAt <= now && entry.psp === psp,
    );
    due.sort((one, other) => (one.dueAt ?? 0) - (other.dueAt ?? 0));
    return due.slice(0, limit).map((row) => this.#take(row));
  }

  async read(merchantId: string, key: string): Promise<Recorded | undefined> {
    const row = this.rows.get(`${merchantId} ${key}`);
    return row === undefined ? undefined : this.#seen(row);
  }

  byId(entryId: string): Row | undefined {
    return [...this.rows.values()].find(({ entry }) => entry.id === entryId);
  }

  describe(): string {
    return JSON.stringify([[...this.rows.values()], this.observations]);
  }

  #take(row: Row): Doubt {
    const now = this.#options.now();
    const checks = row.checks;
    const wasSending = row.entry.state === 'SENDING';
    row.checks += 1;
    row.owner = this.#token();
    row.leaseUntil = now + this.#options.recoveryLeaseMs;
    row.dueAt = row.leaseUntil;
    this.#move(row, {
      attempt: row.entry.attempt + 1,
      state: wasSending ? 'UNKNOWN' : row.entry.state,
    });
    if (wasSending) row.events.push('UNKNOWN');
    return { ...this.#seen(row), ownerToken: row.owner, ageMs: now - row.sentAt, checks };
  }

  #move(row: Row, more: Partial<JournalEntry>): void {
    row.entry = { ...row.entry, ...more };
    const { state, outcomeSource } = row.entry;
    row.payment = { ...row.payment, status: statusAfter('CHARGE', state, outcomeSource) };
  }

  #lease() {
    const now = this.#options.now();
    const { leaseMs, recoverAfterMs } = this.#options;
    const owner = this.#token();
    return { owner, leaseUntil: now + leaseMs, dueAt: now + recoverAfterMs, sentAt: now };
  }

  #token(): string {
    this.#made += 1;
    return `owner-${this.#made}`;
  }

  #row(entryId: string): Row {
    const row = this.byId(entryId);
    if (row === undefined) throw new Error(`There is no entry ${entryId}.`);
    return row;
  }

  #seen(row: Row): Recorded {
    const leaseLeftMs = Math.max(0, row.leaseUntil - this.#options.now());
    return { entry: { ...row.entry, leaseLeftMs }, payment: row.payment };
  }
}

const holdOf = ({ entry, payment, owner }: Row): Hold => ({ entry, payment, ownerToken: owner });

function newRecorded(asked: NewPayment, number: number): Recorded {
  const { merchantId, idempotencyKey, amountMinor, currency, paymentMethod, psp } = asked;
  const money = { amountMinor, currency };
  return {
    entry: {
      ...money,
      merchantId,
      id: `entry-${number}`,
      paymentId: `payment-${number}`,
      idempotencyKey,
      operation: 'CHARGE',
      psp,
      fingerprintVersion: asked.fingerprint.version,
      fingerprint: asked.fingerprint.digest,
      state: 'SENDING',
      outcomeSource: null,
      attempt: 1,
      pspIdempotencyKey: `psp-key-${number}`,
      leaseLeftMs: 0,
      pspReference: null,
      declineCode: null,
      softDecline: null,
      reason: null,
      request: null,
      nextCheckAt: null,
      createdAt: AT,
      settledAt: null,
    },
    payment: {
      ...money,
      merchantId,
      id: `payment-${number}`,
      transactionId: null,
      status: 'PROCESSING',
      authorizedMinor: 0,
      capturedMinor: 0,
      captureReservedMinor: 0,
      refundedMinor: 0,
      refundReservedMinor: 0,
      voidReserved: false,
      psp,
      pspReference: null,
      authorizedUntil: null,
      nextActionUrl: null,
      paymentMethod,
      description: asked.description,
      metadata: asked.metadata,
      version: 1,
      nextCheckAt: null,
      createdAt: AT,
      updatedAt: AT,
    },
  };
}
