import type { Stripe } from 'stripe';
import { z } from 'zod';
import type { Found, Outcome, Sought } from '../../payments/index.ts';
import { whyNot } from './errors.ts';
import {
  ENTRY,
  outcomeOfCapture,
  outcomeOfIntent,
  outcomeOfRefund,
  outcomeOfVoid,
  readIntent,
} from './objects.ts';

/** An answer must stay under 64 KiB; a refund is about a kilobyte. */
const REFUNDS_A_PAGE = 30;
/** More PaymentIntents than one with our reference would be somebody else's doing. */
const INTENTS = 3;
const page = z.object({
  data: z.array(z.looseObject({ id: z.string().min(1) })),
  has_more: z.boolean().default(false),
});

/** Asks Stripe's books about one operation; never throws; all requests within one deadline, in ms. */
export async function findAtStripe(
  stripe: Stripe,
  reference: string,
  sought: Sought | undefined,
  timeoutMs: number,
): Promise<Found> {
  const endsAt = performance.now() + timeoutMs;
  const look = new LookUp(stripe, reference, () =>
    Math.max(1, Math.floor(endsAt - performance.now())),
  );
  try {
    const { operation = 'CHARGE', chargeReference = null } = sought ?? {};
    switch (operation) {
      case 'CHARGE':
      case 'AUTHORIZE':
        return await look.charge(chargeReference);
      case 'REFUND':
        return chargeReference === null ? { kind: 'none' } : await look.refund(chargeReference);
      default:
        return chargeReference === null
          ? { kind: 'none' }
          : await look.step(operation, chargeReference);
    }
  } catch (error) {
    return { kind: 'unreachable', reason: whyNot(error) };
  }
}

class LookUp {
  readonly #stripe: Stripe;
  readonly #reference: string;
  readonly #leftMs: () => number;
  constructor(stripe: Stripe, reference: string, leftMs: () => number) {
    this.#stripe = stripe;
    this.#reference = reference;
    this.#leftMs = leftMs;
  }

  /** A search may answer what was a minute ago: what it finds is read again by its id. */
  async charge(known: string | null): Promise<Found> {
    const ids = known === null ? await this.#search() : [known];
    if (ids === undefined) return UNREADABLE;
    const outcomes: Outcome[] = [];
    for (const id of ids) {
      const intent = await this.#intent(id);
      if (intent?.metadata[ENTRY] !== this.#reference) return UNREADABLE;
      outcomes.push(outcomeOfIntent(intent));
    }
    const [only] = outcomes;
    if (only === undefined) return { kind: 'none' };
    const best = (kind: Outcome['kind']) => outcomes.find((outcome) => outcome.kind === kind);
    return found(best('succeeded') ?? best('unknown') ?? best('pending') ?? only);
  }

  async refund(intent: string): Promise<Found> {
    let after: string | undefined;
    for (;;) {
      const list = page.safeParse(
        await this.#stripe.refunds.list(
          {
            payment_intent: intent,
            limit: REFUNDS_A_PAGE,
            ...(after === undefined ? {} : { starting_after: after }),
          },
          { timeout: this.#leftMs() },
        ),
      ).data;
      if (list === undefined) return UNREADABLE;
      for (const refund of list.data) {
        const outcome = outcomeOfRefund(refund, this.#reference);
        if (outcome !== undefined) return found(outcome);
      }
      after = list.data.at(-1)?.id;
      if (!list.has_more || after === undefined) return { kind: 'none' };
    }
  }

  /** A capture, void or confirmation shows in the state of its PaymentIntent. */
  async step(operation: Sought['operation'], id: string): Promise<Found> {
    const intent = await this.#intent(id);
    if (intent === undefined) return UNREADABLE;
    if (operation === 'CAPTURE') return found(outcomeOfCapture(intent, this.#reference));
    if (operation === 'VOID') return found(outcomeOfVoid(intent));
    // Still waiting: Stripe's answer to the same key tells whether it has had the confirmation.
    const waits = ['requires_action', 'requires_confirmation'].includes(intent.status);
    return waits ? { kind: 'none' } : found(outcomeOfIntent(intent));
  }

  async #search(): Promise<readonly string[] | undefined> {
    const query = `metadata['${ENTRY}']:'${this.#reference.replace(/[^\w-]/g, '')}'`;
    const answer = await this.#stripe.paymentIntents.search(
      { query, limit: INTENTS },
      { timeout: this.#leftMs() },
    );
    return page.safeParse(answer).data?.data.map(({ id }) => id);
  }

  async #intent(id: string): Promise<ReturnType<typeof readIntent>> {
    const options = { timeout: this.#leftMs() };
    return readIntent(
      await this.#stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] }, options),
    );
  }
}

const UNREADABLE: Found = { kind: 'unreachable', reason: 'unreadable answer' };

function found(outcome: Outcome | undefined): Found {
  if (outcome === undefined) return { kind: 'none' };
  if (outcome.kind === 'unknown') return { kind: 'unreachable', reason: outcome.reason };
  return { kind: 'found', outcome };
}
