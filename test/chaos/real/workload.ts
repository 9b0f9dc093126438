import { setTimeout as sleep } from 'node:timers/promises';
import { type History, type Request, send } from './client.ts';
import { decisionIn, isOver } from './decided.ts';
import type { Random } from './random.ts';
import type { Heard } from './records.ts';
import type { World } from './world.ts';

const PATIENCE_MS = 8_000;
const CURRENCIES = ['EUR', 'USD', 'JPY', 'KWD'] as const;
/** What the PSP does with a charge; the plain one more often than any other. */
const SOURCES = [
  ...Array.from({ length: 10 }, () => 'pm_ok'),
  'pm_declined',
  'pm_insufficient_funds',
  'pm_slow_300',
  'pm_execute_then_hang',
  'pm_execute_then_reset',
  'pm_execute_then_500',
  'pm_execute_then_truncate',
  'pm_execute_then_garbage',
  'pm_fail_before_500',
  'pm_rate_limited_1',
  'pm_pending_800',
  'pm_execute_late_2500',
] as const;
const SHARES = { storm: 0.1, altered: 0.05, hangUp: 0.05, replay: 0.3, cancel: 0.08, shared: 0.03 };

/** What the clients share. */
export interface Shop {
  readonly world: World;
  readonly history: History;
  /** False: no new intents, but what was begun is brought to its end. */
  open: boolean;
  /** After this moment, in ms since the epoch, nothing is asked any more. */
  closesAt: number;
  begun: number;
  ended: number;
}

/** One client: makes payments and what follows from them, one after the other. */
export async function shopAs(shop: Shop, name: string, random: Random): Promise<void> {
  for (let order = 1; shop.open; order += 1) await story(shop, `${name}-${order}`, random);
}

async function story(shop: Shop, key: string, random: Random): Promise<void> {
  const merchant = random.one(shop.world.merchants);
  const amount = { amountMinor: random.between(1, 50_000), currency: random.one(CURRENCIES) };
  const manual = random.chance(0.35);
  const input = {
    amount,
    paymentMethod: random.one(SOURCES),
    captureMode: manual ? 'MANUAL' : 'AUTOMATIC',
    ...(random.chance(SHARES.shared) ? { transactionId: `order-${random.below(50)}` } : {}),
  };
  const create: Request = { merchant, key, field: 'createPayment', input };
  if (random.chance(SHARES.shared)) {
    const other = random.one(shop.world.merchants.filter(({ id }) => id !== merchant.id));
    await conclude(shop, { ...create, merchant: other }, random);
  }
  if (random.chance(SHARES.cancel)) {
    const paying = conclude(shop, create, random);
    await sleep(random.below(400));
    await conclude(shop, cancelling(create), random);
    await paying;
    return;
  }
  const heard = await conclude(shop, create, random);
  if (heard?.kind !== 'answered' || decisionIn(heard) !== 'SUCCEEDED') return;
  if (heard.paymentId !== null) await followUps(shop, create, heard.paymentId, manual, random);
}

const cancelling = ({ merchant, key }: Request): Request => ({
  merchant,
  key: `${key}-cancel`,
  field: 'cancelByIdempotencyKey',
  input: { cancels: key },
});

/** Captures in parts, a void or refunds, some of them at one time. */
async function followUps(
  shop: Shop,
  { merchant, key, input }: Request,
  id: string,
  manual: boolean,
  random: Random,
): Promise<void> {
  const whole = input['amount'] as { amountMinor: number; currency: string };
  const paymentId = Buffer.from(`Payment:${id}`).toString('base64url');
  const part = () => ({ ...whole, amountMinor: random.between(1, whole.amountMinor) });
  const made = (field: Request['field'], number: number, more: object = {}): Request => ({
    merchant,
    key: `${key}-${field}-${number}`,
    field,
    input: { paymentId, ...more },
  });
  const several = async (field: Request['field'], most: number) => {
    const requests = Array.from({ length: random.between(1, most) }, (_, number) =>
      made(field, number, random.chance(0.7) ? { amount: part() } : {}),
    );
    await Promise.all(requests.map((request) => conclude(shop, request, random)));
  };
  if (manual && random.chance(0.25)) await conclude(shop, made('voidPayment', 0), random);
  else if (manual && random.chance(0.8)) await several('capturePayment', 3);
  if (random.chance(0.4)) await several('refundPayment', 3);
}

/** Asks until there is nothing more to ask under the key: across servers, by storms, with repeats. */
async function conclude(shop: Shop, request: Request, random: Random): Promise<Heard | undefined> {
  shop.begun += 1;
  const { history, world } = shop;
  const ask = (one: Request = request, patienceMs = PATIENCE_MS) =>
    send(history, random.one(world.servers), one, patienceMs);
  if (random.chance(SHARES.hangUp)) await ask(request, random.between(10, 250));
  if (random.chance(SHARES.storm)) {
    await Promise.all(Array.from({ length: random.between(3, 8) }, () => ask()));
  }
  const altered = random.chance(SHARES.altered) ? ask(alteredFrom(request, random)) : undefined;
  for (let tries = 1; ; tries += 1) {
    const heard = await ask();
    if (isOver(heard)) {
      await altered;
      if (random.chance(SHARES.replay)) await ask();
      shop.ended += 1;
      return heard;
    }
    if (Date.now() > shop.closesAt) return undefined;
    await sleep(random.between(50, 150) * Math.min(tries, 8));
  }
}

/** The same key with another payload, by one minor unit, or another kind of payment method. */
function alteredFrom(request: Request, random: Random): Request {
  const { amount } = request.input as { amount?: { amountMinor: number } };
  if (amount === undefined || request.field !== 'createPayment') {
    return {
      ...request,
      field: 'createPayment',
      input: { amount: { amountMinor: 77_777, currency: 'EUR' }, paymentMethod: 'pm_ok' },
    };
  }
  const other = { ...amount, amountMinor: amount.amountMinor + random.between(1, 9) };
  return { ...request, input: { ...request.input, amount: other } };
}
