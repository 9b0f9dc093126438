interface Debt {
  readonly pay: () => Promise<unknown>;
  readonly until: number;
}

/** After that a lease has ended by itself, and an answer is the journal's to give. */
const OWED_FOR_MS = 60_000;
const MOST_DEBTS = 1_000;
const TRY_EVERY_MS = 500;

/**
 * Steps whose caller has gone on without them: the release of a claim that may have been granted
 * unseen, the settle or release of a lease while Redis was away. They are made up for when Redis is
 * back, so that nobody waits for a lease to end. Every one compares its token, so late is harmless.
 */
export class Owed {
  readonly #debts = new Map<string, Debt>();
  #timer: NodeJS.Timeout | undefined;
  #paying = false;
  #closed = false;

  /** Replaces what was owed for the token. */
  note(token: string, pay: () => Promise<unknown>): void {
    const full = this.#debts.size >= MOST_DEBTS && !this.#debts.has(token);
    if (this.#closed || full) return;
    this.#debts.set(token, { pay, until: performance.now() + OWED_FOR_MS });
    this.#tryLater();
  }

  forget(token: string): void {
    this.#debts.delete(token);
  }

  /** Pays one after the other until one fails; that one comes last next time. Never throws. */
  async pay(): Promise<void> {
    if (this.#paying) return;
    this.#paying = true;
    for (const [token, debt] of this.#debts) {
      const paid = await settled(debt);
      // Meanwhile the token's owner may have come back, or something newer may be owed.
      if (this.#debts.get(token) !== debt) continue;
      this.#debts.delete(token);
      if (paid) continue;
      this.#debts.set(token, debt);
      this.#tryLater();
      break;
    }
    this.#paying = false;
  }

  close(): void {
    this.#closed = true;
    this.#debts.clear();
    clearTimeout(this.#timer);
  }

  #tryLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.pay(), TRY_EVERY_MS).unref();
  }
}

/** False if the debt still stands. */
async function settled({ pay, until }: Debt): Promise<boolean> {
  if (until <= performance.now()) return true;
  try {
    await pay();
    return true;
  } catch {
    return false;
  }
}
