import { randomUUID } from 'node:crypto';
import { Stripe } from 'stripe';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Charge } from '../../src/payments/index.ts';
import { createPsp, type OpenPsp } from '../../src/psp/index.ts';
import { pspContract } from '../contract/psp-contract.ts';
import { type StripeStandIn, startStripe } from '../support/with-stripe.ts';

const TIMEOUT_MS = 900;
const SECRETS = ['whsec_old', 'whsec_new'];
const SETTINGS = {
  secretKey: 'sk_test_stand_in',
  timeoutMs: TIMEOUT_MS,
  returnUrl: 'https://shop.example/back',
  webhookSecrets: SECRETS,
};
const open = (apiBase: string, more: object = {}): Promise<OpenPsp> =>
  createPsp('stripe', { ...SETTINGS, apiBase, ...more });

pspContract('the Stripe adapter', async () => {
  const stripe = await startStripe();
  const psp = await open(stripe.url);
  return {
    psp,
    timeoutMs: TIMEOUT_MS,
    mostYen: 99_999_999,
    methods: {
      ok: 'pm_card_visa',
      declined: 'pm_card_visa_chargeDeclined',
      softDeclined: 'pm_card_chargeDeclinedInsufficientFunds',
      pending: 'pm_card_processing',
      requiresAction: 'pm_card_authenticationRequired',
      nonsense: 'pm_no_such_thing',
      notExecutedAtFirst: 'pm_fault_rate_limited',
      executedUnknown: [
        'pm_fault_execute_then_hang',
        'pm_fault_execute_then_reset',
        'pm_fault_execute_then_502_page',
        'pm_fault_execute_then_409',
        'pm_fault_execute_then_truncate',
        'pm_fault_execute_then_garbage',
        'pm_fault_execute_then_null',
        'pm_fault_execute_then_redirect',
        'pm_fault_execute_then_other_reference',
      ],
      notExecutedUnknown: [
        'pm_fault_hang_before',
        'pm_fault_reset_before',
        'pm_fault_fail_before_500',
        'pm_fault_lock_timeout',
        'pm_fault_key_in_use',
      ],
    },
    executions: async (reference) => (await stripe.moved(reference)).length,
    authenticate: (id) => stripe.authenticate(id),
    close: async () => {
      await psp.close();
      await stripe.stop();
    },
  };
});

describe('the Stripe adapter and Stripe', () => {
  let stripe: StripeStandIn;
  let psp: OpenPsp;
  beforeAll(async () => {
    stripe = await startStripe();
    psp = await open(stripe.url);
  });
  afterAll(async () => {
    await psp.close();
    await stripe.stop();
  });

  const ask = (changes: Partial<Charge> = {}): Charge => ({
    reference: randomUUID(),
    pspKey: randomUUID(),
    paymentMethod: 'pm_card_visa',
    amountMinor: 700,
    currency: 'EUR',
    ...changes,
  });
  const sent = async (key: string) => (await stripe.requests()).filter((one) => one.key === key);

  it('sends one request, whatever becomes of it, under our key', async () => {
    for (const fault of [
      'reset_before',
      'execute_then_reset',
      'execute_then_409',
      'rate_limited',
    ]) {
      const charge = ask({ paymentMethod: `pm_fault_${fault}` });
      await psp.charge(charge);
      expect(await sent(charge.pspKey), fault).toHaveLength(1);
    }
  });

  it('a 500 that Stripe keeps for the key stays unknown, and the look-up tells', async () => {
    const charge = ask({ paymentMethod: 'pm_fault_execute_then_500' });
    expect((await psp.charge(charge)).kind).toBe('unknown');
    expect((await psp.charge(charge)).kind).toBe('unknown');
    expect(await psp.find(charge.reference)).toMatchObject({ outcome: { kind: 'succeeded' } });
    expect(await stripe.moved(charge.reference)).toHaveLength(1);
  });

  it('an amount that is not ours is told as it is', async () => {
    const charge = ask({ paymentMethod: 'pm_fault_execute_then_wrong_amount' });
    expect(await psp.charge(charge)).toMatchObject({ kind: 'succeeded', amountMinor: 701 });
  });

  it('refused credentials prove that nothing was executed, and are no decline', async () => {
    for (const fault of ['unauthorized', 'forbidden']) {
      const charge = ask({ paymentMethod: `pm_fault_${fault}` });
      expect((await psp.charge(charge)).kind, fault).toBe('notSent');
      expect(await stripe.moved(charge.reference)).toEqual([]);
    }
  });

  it('a rate limit is waited for as long as Stripe says', async () => {
    const limited = await psp.charge(ask({ paymentMethod: 'pm_fault_rate_limited' }));
    expect(limited).toMatchObject({ kind: 'notSent', retryAfterMs: 2_000 });
  });

  it('no connection is a proof; a search that lags is none, and the id is read at once', async () => {
    const gone = await open('http://127.0.0.1:1');
    expect((await gone.charge(ask())).kind).toBe('notSent');
    await gone.close();
    await stripe.lag(60_000);
    const charge = ask();
    const outcome = await psp.charge(charge);
    expect(await psp.find(charge.reference)).toEqual({ kind: 'none' });
    const chargeReference = outcome.kind === 'succeeded' ? outcome.pspReference : '';
    const sought = { operation: 'CHARGE', chargeReference } as const;
    expect(await psp.find(charge.reference, sought)).toEqual({ kind: 'found', outcome });
    expect(await psp.charge(charge)).toEqual(outcome);
    expect(await stripe.moved(charge.reference)).toHaveLength(1);
    await stripe.lag(0);
  });

  it('a look-up that is disturbed says unreachable, never none', async () => {
    const charge = ask();
    await psp.charge(charge);
    for (const fault of [
      'fail_before_500',
      'rate_limited',
      'forbidden',
      'hang_before',
      'execute_then_reset',
      'execute_then_garbage',
      'execute_then_null',
      'execute_then_truncate',
    ] as const) {
      await stripe.fault('GET', fault);
      expect((await psp.find(charge.reference)).kind, fault).toBe('unreachable');
    }
    expect((await psp.find(charge.reference)).kind).toBe('found');
  });

  it('a refund is found among many', async () => {
    const outcome = await psp.charge(ask());
    const chargeReference = outcome.kind === 'succeeded' ? outcome.pspReference : '';
    const refunds = Array.from({ length: 35 }, () => ({
      ...ask({ amountMinor: 2 }),
      chargeReference,
    }));
    for (const refund of refunds) await psp.refund(refund);
    const sought = { operation: 'REFUND', chargeReference } as const;
    expect(await psp.find(refunds[0]?.reference ?? '', sought)).toMatchObject({
      kind: 'found',
      outcome: { kind: 'succeeded', amountMinor: 2 },
    });
    expect(await psp.find(randomUUID(), sought)).toEqual({ kind: 'none' });
  });

  it('a second capture is refused: Stripe lets go of the rest with the first', async () => {
    const outcome = await psp.charge(ask({ capture: false }));
    const chargeReference = outcome.kind === 'succeeded' ? outcome.pspReference : '';
    const part = () => ({ ...ask({ amountMinor: 100 }), chargeReference });
    expect((await psp.capture(part())).kind).toBe('succeeded');
    expect(await psp.capture(part())).toEqual({
      kind: 'rejected',
      code: 'payment_intent_unexpected_state',
    });
  });

  it('an authorisation that is over is found as expired, one that never was as declined', async () => {
    for (const [paymentMethod, expected] of [
      ['pm_card_visa', { kind: 'succeeded', amountMinor: 700, expired: true }],
      ['pm_card_authenticationRequired', { kind: 'declined', declineCode: 'canceled' }],
    ] as const) {
      const charge = ask({ capture: false, paymentMethod });
      const outcome = await psp.charge(charge);
      const chargeReference = 'pspReference' in outcome ? (outcome.pspReference ?? '') : '';
      await stripe.cancel(chargeReference);
      expect(await psp.find(charge.reference)).toMatchObject({ kind: 'found', outcome: expected });
    }
  });

  it('amounts go in the units of Stripe, and what it cannot take is not sent', async () => {
    const crowns = ask({ currency: 'ISK', amountMinor: 5 });
    expect(await psp.charge(crowns)).toMatchObject({ kind: 'succeeded', amountMinor: 5 });
    expect(await stripe.moved(crowns.reference)).toMatchObject([{ amount: 500 }]);
    const dinar = ask({ currency: 'KWD', amountMinor: 1_005 });
    expect(await psp.charge(dinar)).toEqual({ kind: 'rejected', code: 'amount_not_representable' });
    expect(await sent(dinar.pspKey)).toEqual([]);
  });

  describe('a webhook', () => {
    const { webhooks } = new Stripe('sk_test_only_for_signing');
    const reference = randomUUID();
    const event = (type: string, object: object) =>
      JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object } });
    const intent = {
      id: 'pi_1',
      object: 'payment_intent',
      status: 'succeeded',
      amount: 700,
      amount_received: 700,
      currency: 'eur',
      metadata: { semel_entry: reference },
      latest_charge: 'ch_1',
    };
    const read = (payload: string, secret = 'whsec_new', ageS = 0) => {
      const timestamp = Math.floor(Date.now() / 1_000) - ageS;
      const signature = webhooks.generateTestHeaderString({ payload, secret, timestamp });
      return psp.readWebhook?.(payload, { 'stripe-signature': signature });
    };

    it('signed with any of our secrets tells of an entry', () => {
      for (const secret of SECRETS) {
        expect(read(event('payment_intent.succeeded', intent), secret)).toEqual({
          kind: 'event',
          eventId: 'evt_1',
          type: 'payment_intent.succeeded',
          reference,
          outcome: { kind: 'succeeded', pspReference: 'pi_1', amountMinor: 700, currency: 'EUR' },
        });
      }
    });

    it('of a capture and of a refund tells of theirs', () => {
      const metadata = { semel_entry: 'first', semel_capture: reference };
      const captured = { ...intent, capture_method: 'manual', amount_received: 300, metadata };
      expect(read(event('payment_intent.succeeded', captured))).toMatchObject({
        reference,
        outcome: { kind: 'succeeded', amountMinor: 300 },
      });
      const refund = { ...intent, id: 're_1', object: 'refund', status: 'failed' };
      expect(read(event('refund.failed', refund))).toMatchObject({
        reference,
        outcome: { kind: 'declined', pspReference: 're_1' },
      });
    });

    it('that is forged, old, changed or not signed is believed by nobody', () => {
      const payload = event('payment_intent.succeeded', intent);
      expect(read(payload, 'whsec_other')).toEqual({ kind: 'forged' });
      expect(read(payload, 'whsec_new', 301)).toEqual({ kind: 'forged' });
      expect(psp.readWebhook?.(payload, {})).toEqual({ kind: 'forged' });
      const signature = webhooks.generateTestHeaderString({ payload, secret: 'whsec_new' });
      const changed = psp.readWebhook?.(`${payload} `, { 'stripe-signature': signature });
      expect(changed).toEqual({ kind: 'forged' });
    });

    it('about something else is left alone', () => {
      const other = event('payment_intent.succeeded', { ...intent, metadata: {} });
      expect(read(other)).toEqual({
        kind: 'ignored',
        eventId: 'evt_1',
        type: 'payment_intent.succeeded',
      });
      expect(read(event('customer.created', { id: 'cus_1', object: 'customer' }))).toEqual({
        kind: 'ignored',
        eventId: 'evt_1',
        type: 'customer.created',
      });
    });

    it('of what was cancelled tells of a void, if there is one', () => {
      const cancelled = { ...intent, status: 'canceled', amount_received: 0 };
      expect(read(event('payment_intent.canceled', cancelled))).toMatchObject({
        reference,
        operation: 'VOID',
        outcome: { kind: 'succeeded', amountMinor: 700 },
      });
    });
  });
});
