import type { Charge, Found, Outcome } from '../../../src/payments/index.ts';

export interface Execution {
  readonly reference: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly at: number;
}

interface Kept {
  readonly outcome: Outcome;
  readonly at: number;
}

export interface MemoryPspOptions {
  readonly now: () => number;
  /** After so long a repeated key is a new order, in ms. */
  readonly forgetsAfterMs: number;
  /** So long a look-up may miss what was executed, in ms. */
  readonly hidesForMs: () => number;
}

/** The PSP's side: what it executed, and what it says of it. Each method is one atomic step. */
export class MemoryPsp {
  readonly executions: Execution[] = [];
  readonly keys = new Map<string, Set<string>>();
  readonly #options: MemoryPspOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #visible = new Map<string, { readonly outcome: Outcome; readonly from: number }>();

  constructor(options: MemoryPspOptions) {
    this.#options = options;
  }

  /** Decides the order, or answers a repeated key with its first result. */
  charge({ reference, pspKey, amountMinor, currency, paymentMethod }: Charge): Outcome {
    const now = this.#options.now();
    this.keys.set(reference, (this.keys.get(reference) ?? new Set()).add(pspKey));
    const kept = this.#kept.get(pspKey);
    if (kept !== undefined && now - kept.at < this.#options.forgetsAfterMs) return kept.outcome;
    const outcome: Outcome =
      paymentMethod === 'pm_declined'
        ? { kind: 'declined', pspReference: `ch-${pspKey}`, declineCode: 'no_funds', soft: true }
        : { kind: 'succeeded', pspReference: `ch-${pspKey}`, amountMinor, currency };
    this.#kept.set(pspKey, { outcome, at: now });
    this.#visible.set(reference, { outcome, from: now + this.#options.hidesForMs() });
    if (outcome.kind === 'succeeded') {
      this.executions.push({ reference, amountMinor, currency, at: now });
    }
    return outcome;
  }

  find(reference: string): Found {
    const there = this.#visible.get(reference);
    if (there === undefined || there.from > this.#options.now()) return { kind: 'none' };
    return { kind: 'found', outcome: there.outcome };
  }

  describe(): string {
    return JSON.stringify([[...this.#kept], [...this.#visible], this.executions]);
  }
}
