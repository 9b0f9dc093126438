import type { Charge, FollowUpOrder, Found, Outcome } from '../../../src/payments/index.ts';

export const KINDS = ['charge', 'authorize', 'capture', 'void', 'refund', 'confirm'] as const;
export type Kind = (typeof KINDS)[number];

export interface Execution {
  readonly reference: string;
  readonly kind: Kind;
  /** The PSP's own id of the charge that it is or belongs to. */
  readonly charge: string;
  readonly amountMinor: number;
  readonly currency: string;
}

/** An order as it came; the charge is its own id for a first operation. */
export interface Order {
  readonly kind: Kind;
  readonly reference: string;
  readonly pspKey: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly charge: string;
  readonly method: string;
}

interface Kept {
  readonly order: Order;
  readonly id: string;
  outcome: Outcome;
  readonly at: number;
}

export interface MemoryPspOptions {
  readonly now: () => number;
  /** After so long a repeated key is a new order, in ms. */
  readonly forgetsAfterMs: number;
  /** So long a look-up may miss what was executed, in ms. */
  readonly hidesForMs: () => number;
  /** Told of every outcome that this PSP tells its merchant of. */
  readonly announce: (reference: string, outcome: Outcome, late: boolean) => void;
  /** Does something later. */
  readonly later: (what: string, run: () => void) => void;
}

/**
 * The PSP's side: what it executed, and what it says of it. Each method is one atomic step. It grants
 * whatever amount it is asked for: that no more is asked for than there is, is the journal's promise.
 */
export class MemoryPsp {
  readonly executions: Execution[] = [];
  readonly keys = new Map<string, Set<string>>();
  readonly #options: MemoryPspOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #visible = new Map<string, { readonly kept: Kept; readonly from: number }>();

  constructor(options: MemoryPspOptions) {
    this.#options = options;
  }

  charge({ reference, pspKey, amountMinor, currency, paymentMethod, capture }: Charge): Outcome {
    const kind = capture === false ? 'authorize' : 'charge';
    const charge = `ch-${pspKey}`;
    const order = { kind, reference, pspKey, amountMinor, currency, charge } as const;
    return this.#work({ ...order, method: paymentMethod });
  }

  followUp(kind: Kind, { chargeReference, ...order }: FollowUpOrder): Outcome {
    return this.#work({ ...order, kind, charge: chargeReference, method: 'pm_ok' });
  }

  find(reference: string): Found {
    const there = this.#visible.get(reference);
    if (there === undefined || there.from > this.#options.now()) return { kind: 'none' };
    return { kind: 'found', outcome: there.kept.outcome };
  }

  /** True of a charge that waits for its buyer. */
  isWaiting(reference: string): boolean {
    return this.#visible.get(reference)?.kept.outcome.kind === 'pending';
  }

  describe(): string {
    return JSON.stringify([[...this.#kept], [...this.#visible], this.executions]);
  }

  /** Decides the order, or answers a repeated key with its first result. */
  #work(order: Order): Outcome {
    const { reference, pspKey } = order;
    const now = this.#options.now();
    this.keys.set(reference, (this.keys.get(reference) ?? new Set()).add(pspKey));
    const known = this.#kept.get(pspKey);
    if (known !== undefined && now - known.at < this.#options.forgetsAfterMs) return known.outcome;
    const first = order.kind === 'charge' || order.kind === 'authorize';
    const id = first ? order.charge : `${order.kind}-${pspKey}`;
    const kept: Kept = { order, id, outcome: this.#decide(order, id), at: now };
    this.#kept.set(pspKey, kept);
    this.#visible.set(reference, { kept, from: now + this.#options.hidesForMs() });
    this.#settle(kept);
    return kept.outcome;
  }

  #decide({ kind, method, charge, amountMinor, currency }: Order, id: string): Outcome {
    const succeeded = { kind: 'succeeded', pspReference: id, amountMinor, currency } as const;
    const waits = [...this.#kept.values()].find((one) => one.id === charge)?.outcome.kind;
    if (kind === 'confirm' && waits !== 'pending') return declined(id, 'not waiting');
    if (method === 'pm_action') {
      return { kind: 'pending', pspReference: id, nextActionUrl: 'https://psp.invalid/' };
    }
    const refuses = method === 'pm_declined' || method === 'pm_late';
    return refuses ? declined(id, 'no_funds') : succeeded;
  }

  #settle(kept: Kept): void {
    const { order, outcome } = kept;
    if (outcome.kind === 'pending') return;
    if (outcome.kind === 'succeeded') this.#execute(kept);
    if (order.kind !== 'confirm') this.#options.announce(order.reference, outcome, false);
    if (order.method === 'pm_late') {
      this.#options.later('executes what it declined', () => this.#change(kept, true));
    }
    if (order.kind !== 'confirm' || outcome.kind !== 'succeeded') return;
    for (const one of this.#kept.values()) {
      if (one.id === order.charge && one.outcome.kind === 'pending') this.#change(one, false);
    }
  }

  /** What was pending or declined is executed after all. A repeat of the request is told so, too. */
  #change(kept: Kept, late: boolean): void {
    const { reference, amountMinor, currency } = kept.order;
    kept.outcome = { kind: 'succeeded', pspReference: kept.id, amountMinor, currency };
    this.#execute(kept);
    this.#options.announce(reference, kept.outcome, late);
  }

  #execute({ order }: Kept): void {
    const { kind, reference, charge, amountMinor, currency } = order;
    if (kind !== 'confirm') {
      this.executions.push({ kind, reference, charge, amountMinor, currency });
    }
  }
}

const declined = (pspReference: string, declineCode: string): Outcome => ({
  kind: 'declined',
  pspReference,
  declineCode,
  soft: true,
});
