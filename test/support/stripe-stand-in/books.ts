import { randomUUID } from 'node:crypto';
import { type Answer, errorBody } from './faults.ts';

type Form = URLSearchParams;

interface Intent {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly capture_method: string;
  readonly metadata: Record<string, string>;
  readonly created: number;
  status: string;
  amount_received: number;
  refunded: number;
  lastError: object | null;
  returnUrl: string | null;
}

/** One movement of money, as the tests count them. */
export interface Moved {
  readonly reference: string;
  readonly kind: 'charge' | 'authorize' | 'capture' | 'void' | 'refund' | 'confirm';
  readonly amount: number;
}

const DECLINES: Readonly<Record<string, string>> = {
  pm_card_visa_chargeDeclined: 'generic_decline',
  pm_card_chargeDeclinedInsufficientFunds: 'insufficient_funds',
};
const WAITING: Readonly<Record<string, string>> = {
  pm_card_authenticationRequired: 'requires_action',
  pm_card_processing: 'processing',
};
const MOST = 99_999_999;
const DAY_S = 86_400;
const now = () => Math.floor(Date.now() / 1_000);
const newId = (prefix: string) => `${prefix}_${randomUUID().replaceAll('-', '')}`;
const bad = (code: string, more: object = {}, status = 400): Answer => ({
  status,
  body: errorBody('invalid_request_error', code, more),
});

/** PaymentIntents and refunds, and what Stripe's published API does to them. */
export class Books {
  readonly moved: Moved[] = [];
  readonly #intents = new Map<string, Intent>();
  readonly #refunds: Record<string, unknown>[] = [];

  create(form: Form): Answer {
    const method = form.get('payment_method') ?? '';
    const amount = Number(form.get('amount'));
    if (!/^pm_(card_|fault_)/.test(method))
      return bad('resource_missing', { param: 'payment_method' });
    if (amount > MOST) return bad('amount_too_large', { param: 'amount' });
    const intent: Intent = {
      id: newId('pi'),
      amount,
      currency: form.get('currency') ?? '',
      capture_method: form.get('capture_method') ?? 'automatic',
      metadata: metadataIn(form),
      created: now(),
      status: 'requires_confirmation',
      amount_received: 0,
      refunded: 0,
      lastError: null,
      returnUrl: form.get('return_url'),
    };
    this.#intents.set(intent.id, intent);
    const decline = DECLINES[method];
    if (decline !== undefined) return this.#declined(intent, decline);
    const waiting = WAITING[method];
    if (waiting === undefined) this.#pay(intent);
    else intent.status = waiting;
    return this.#answer(intent);
  }

  confirm(id: string): Answer {
    const intent = this.#intents.get(id);
    if (intent === undefined) return bad('resource_missing', {}, 404);
    if (intent.status !== 'requires_confirmation') return this.#unexpected(intent);
    this.#pay(intent);
    return this.#answer(intent);
  }

  capture(id: string, form: Form): Answer {
    const intent = this.#intents.get(id);
    if (intent === undefined) return bad('resource_missing', {}, 404);
    if (intent.status !== 'requires_capture') return this.#unexpected(intent);
    const amount = Number(form.get('amount_to_capture') ?? intent.amount);
    if (amount > intent.amount) return bad('amount_too_large');
    Object.assign(intent.metadata, metadataIn(form));
    intent.status = 'succeeded';
    intent.amount_received = amount;
    this.#move(intent.metadata['semel_capture'], 'capture', amount);
    return this.#answer(intent);
  }

  cancel(id: string): Answer {
    const intent = this.#intents.get(id);
    if (intent === undefined) return bad('resource_missing', {}, 404);
    if (['succeeded', 'canceled'].includes(intent.status)) return this.#unexpected(intent);
    intent.status = 'canceled';
    this.#move(intent.metadata['semel_entry'], 'void', intent.amount);
    return this.#answer(intent);
  }

  refund(form: Form): Answer {
    const intent = this.#intents.get(form.get('payment_intent') ?? '');
    if (intent === undefined) return bad('resource_missing', {}, 404);
    const left = intent.amount_received - intent.refunded;
    const amount = Number(form.get('amount') ?? left);
    if (amount > left || amount <= 0) return bad('charge_already_refunded');
    intent.refunded += amount;
    const refund = {
      id: newId('re'),
      object: 'refund',
      status: 'succeeded',
      amount,
      currency: intent.currency,
      payment_intent: intent.id,
      metadata: metadataIn(form),
    };
    this.#refunds.unshift(refund);
    this.#move(refund.metadata['semel_entry'], 'refund', amount);
    return { status: 200, body: refund };
  }

  /** The buyer has done what the bank asked of him. */
  authenticate(id: string): void {
    const intent = this.#intents.get(id);
    if (intent?.status === 'requires_action') intent.status = 'requires_confirmation';
  }

  /** Stripe cancels by itself what nobody captures. */
  expire(id: string): void {
    const intent = this.#intents.get(id);
    if (intent !== undefined) intent.status = 'canceled';
  }

  retrieve(id: string): Answer {
    const intent = this.#intents.get(id);
    return intent === undefined ? bad('resource_missing', {}, 404) : this.#answer(intent);
  }

  /** `metadata['key']:'value'`, over what is older than the lag. */
  search(query: string, lagMs: number): Answer {
    const [, key = '', value = ''] = /^metadata\['(\w+)'\]:'([^']+)'$/.exec(query) ?? [];
    const seen = [...this.#intents.values()].filter(
      ({ metadata, created }) => metadata[key] === value && created * 1_000 <= Date.now() - lagMs,
    );
    const data = seen.map((intent) => this.#answer(intent).body);
    return { status: 200, body: { object: 'search_result', data, has_more: false } };
  }

  refundsOf(intent: string, limit: number, after: string | null): Answer {
    const all = this.#refunds.filter((refund) => refund['payment_intent'] === intent);
    const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
    const data = all.slice(from, from + limit);
    return { status: 200, body: { object: 'list', data, has_more: from + limit < all.length } };
  }

  #pay(intent: Intent): void {
    const manual = intent.capture_method === 'manual';
    intent.status = manual ? 'requires_capture' : 'succeeded';
    intent.amount_received = manual ? 0 : intent.amount;
    this.#move(intent.metadata['semel_entry'], manual ? 'authorize' : 'charge', intent.amount);
  }

  #declined(intent: Intent, decline: string): Answer {
    intent.status = 'requires_payment_method';
    intent.lastError = { type: 'card_error', code: 'card_declined', decline_code: decline };
    const payment_intent = this.#answer(intent).body;
    const more = { decline_code: decline, payment_intent };
    return { status: 402, body: errorBody('card_error', 'card_declined', more) };
  }

  #unexpected(intent: Intent): Answer {
    return bad('payment_intent_unexpected_state', { payment_intent: this.#answer(intent).body });
  }

  #move(reference: string | undefined, kind: Moved['kind'], amount: number): void {
    this.moved.push({ reference: reference ?? '', kind, amount });
  }

  #answer({ lastError, returnUrl, refunded: _, ...intent }: Intent): Answer {
    const held = this.moved.some(({ reference }) => reference === intent.metadata['semel_entry']);
    const card = intent.status === 'requires_capture' ? { capture_before: now() + 7 * DAY_S } : {};
    const url = `https://hooks.stripe.example/3d_secure/${intent.id}`;
    return {
      status: 200,
      body: {
        object: 'payment_intent',
        ...intent,
        last_payment_error: lastError,
        next_action:
          intent.status !== 'requires_action'
            ? null
            : returnUrl === null
              ? { type: 'use_stripe_sdk', use_stripe_sdk: {} }
              : { type: 'redirect_to_url', redirect_to_url: { url, return_url: returnUrl } },
        latest_charge: held
          ? { object: 'charge', status: 'succeeded', payment_method_details: { card } }
          : null,
      },
    };
  }
}

function metadataIn(form: Form): Record<string, string> {
  const pairs = [...form].flatMap(([name, value]) => {
    const key = /^metadata\[(\w+)\]$/.exec(name)?.[1];
    return key === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(pairs);
}
