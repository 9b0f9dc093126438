import type { createPayment, IntentRecord, OutcomeOf, PayClient, VarsOf } from '../client/index.ts';

export type Pay = PayClient<{ createPayment: typeof createPayment }>;
export type PaymentOutcome = OutcomeOf<typeof createPayment>;

/** `paying`: somebody pressed the button; `asking`: only finding out. */
export type Work = 'paying' | 'asking';

export interface Shown {
  readonly work: Work | undefined;
  /** The newest; undefined until there is one. */
  readonly outcome: PaymentOutcome | undefined;
}

/** A page shows no "asking" that is over sooner than this, in ms. */
const UNSEEN_MS = 200;

/**
 * One scope on one page: finds out at once what became of it, pays when told to, follows what is
 * processing, and sees what other tabs do. Only what it shows ends with it; payments do not.
 */
export class Attempt {
  readonly #pay: Pay;
  readonly #scope: string;
  readonly #show: (now: Shown) => void;
  readonly #works: Work[] = [];
  readonly #unwatch: () => void;
  #following: AbortController | undefined;
  #outcome: PaymentOutcome | undefined;
  #closed = false;

  constructor(pay: Pay, scope: string, show: (now: Shown) => void) {
    this.#pay = pay;
    this.#scope = scope;
    this.#show = show;
    show({ work: undefined, outcome: undefined });
    this.#unwatch = pay.watch('createPayment', { scope }, (now) => {
      if (now !== undefined && this.#isNews(now)) this.lookUp();
    });
    this.lookUp();
  }

  /** Does it, or finds out that it was done: the client knows which. */
  press(variables: VarsOf<typeof createPayment>): void {
    void this.#carry('paying', () =>
      this.#pay.run('createPayment', variables, { scope: this.#scope }),
    );
  }

  /** Asks what became of it; nothing is paid by that. */
  lookUp(): void {
    void this.#carry('asking', () => this.#pay.resume('createPayment', { scope: this.#scope }));
  }

  /** Goes on with an outcome that is none yet. */
  goOn(): void {
    const outcome = this.#outcome;
    if (outcome?.kind === 'unknown') void this.#carry('paying', () => outcome.resume());
    else if (outcome?.kind === 'blocked') void this.#carry('asking', () => outcome.settleFirst());
    else this.lookUp();
  }

  /** The connection is back: what is unknown can be asked about. */
  online(): void {
    if (this.#outcome?.kind === 'unknown' && this.#works.length === 0) this.lookUp();
  }

  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#following?.abort();
  }

  /** True if another tab is at work, or has ended what this page does not know yet. */
  #isNews({ phase, key }: IntentRecord): boolean {
    if (this.#works.length > 0 || !['sent', 'settled', 'declined'].includes(phase)) return false;
    const known = this.#outcome;
    const isOver = known?.kind === 'settled' || known?.kind === 'declined';
    return !(isOver && known.key === key);
  }

  async #carry(work: Work, ask: () => Promise<PaymentOutcome | undefined>): Promise<void> {
    this.#works.push(work);
    if (work === 'paying') this.#tell();
    else setTimeout(() => this.#tell(), UNSEEN_MS);
    const asked = await ask().catch(misuse);
    const end = asked?.kind === 'processing' ? await this.#follow(asked) : asked;
    this.#works.splice(this.#works.indexOf(work), 1);
    if (end !== undefined) this.#outcome = end;
    this.#tell();
  }

  /** @returns undefined if another call follows it now */
  async #follow(first: Extract<PaymentOutcome, { kind: 'processing' }>) {
    this.#following?.abort();
    const following = new AbortController();
    this.#following = following;
    this.#outcome = first;
    this.#tell();
    const end = await first.follow(following.signal);
    return following.signal.aborted ? undefined : end;
  }

  #tell(): void {
    if (!this.#closed) this.#show({ work: this.#works.at(-1), outcome: this.#outcome });
  }
}

/** What the client throws for is a mistake of this page: it is shown, not swallowed. */
function misuse(cause: unknown): PaymentOutcome {
  return { kind: 'rejected', problem: { code: 'MISUSE', message: String(cause) }, key: '' };
}
