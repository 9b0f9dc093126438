import { setTimeout as sleep } from 'node:timers/promises';
import { type Door, type History, type Request, send } from './client.ts';
import { decisionIn, isOver } from './decided.ts';
import { alteredFrom, CARDS, cancelling, newOrder, SHARES } from './orders.ts';
import type { Random } from './random.ts';
import type { Heard } from './records.ts';
import type { Canaries } from './secrets.ts';
import type { World } from './world.ts';

/** How long a client waits for an answer, in ms: among faults, and when all is well. */
const PATIENCE_MS = { faults: 6_000, quiet: 20_000 } as const;

/** What the clients share. */
export interface Shop {
  readonly world: World;
  readonly history: History;
  readonly canaries: Canaries;
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

/** One payment, and what follows from it. */
export async function story(shop: Shop, key: string, random: Random): Promise<void> {
  const merchant = random.one(shop.world.merchants);
  const { input, manual } = newOrder(random);
  const create: Request = { merchant, key, field: 'createPayment', input };
  if (random.chance(SHARES.card)) await refuseCard(shop, create, random);
  if (random.chance(SHARES.shared)) {
    const other = random.one(shop.world.merchants.filter(({ id }) => id !== merchant.id));
    await concludeWithBuyer(shop, { ...create, merchant: other }, random);
  }
  if (input['paymentMethod'] !== 'pm_requires_action' && random.chance(SHARES.cancel)) {
    const paying = conclude(shop, create, random);
    await sleep(random.below(400));
    await conclude(shop, cancelling(create), random);
    await paying;
    return;
  }
  const heard = await concludeWithBuyer(shop, create, random);
  if (heard?.kind !== 'answered' || decisionIn(heard) !== 'SUCCEEDED') return;
  if (heard.paymentId !== null) await followUps(shop, create, heard.paymentId, manual, random);
}

/** A card number where none belongs: it is refused, and the key is as good as new. */
async function refuseCard(shop: Shop, create: Request, random: Random): Promise<void> {
  const [spaced, plain] = CARDS;
  const input = random.chance(0.5)
    ? { ...create.input, metadata: { note: `card ${spaced}` } }
    : { ...create.input, paymentMethod: plain };
  const key = `${create.key}-card`;
  await conclude(shop, { ...create, key, input }, random);
}

/** A payment that waits for the buyer is confirmed, as often as it takes. */
async function concludeWithBuyer(
  shop: Shop,
  create: Request,
  random: Random,
): Promise<Heard | undefined> {
  const heard = await conclude(shop, create, random);
  if (heard?.kind !== 'answered' || heard.status !== 'REQUIRES_ACTION') return heard;
  for (let number = 0; heard.paymentId !== null; number += 1) {
    const input = { paymentId: globalId(heard.paymentId) };
    const key = `${create.key}-confirm-${number}`;
    const told = await conclude(shop, { ...create, key, field: 'confirmPayment', input }, random);
    const again = await conclude(shop, create, random);
    if (again?.kind !== 'answered' || again.status !== 'REQUIRES_ACTION') return again;
    if (told === undefined) return undefined;
    await sleep(200);
  }
  return heard;
}

const globalId = (id: string): string => Buffer.from(`Payment:${id}`).toString('base64url');

/** Captures in parts, a void or refunds, some of them at one time. */
async function followUps(
  shop: Shop,
  { merchant, key, input }: Request,
  id: string,
  manual: boolean,
  random: Random,
): Promise<void> {
  const whole = input['amount'] as { amountMinor: number; currency: string };
  const part = () => ({ ...whole, amountMinor: random.between(1, whole.amountMinor) });
  const made = (field: Request['field'], number: number, more: object = {}): Request => ({
    merchant,
    key: `${key}-${field}-${number}`,
    field,
    input: { paymentId: globalId(id), ...more },
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

/** One of many that come at once. */
export async function rushIn(shop: Shop, key: string, random: Random): Promise<void> {
  const merchant = random.one(shop.world.merchants);
  const input = { ...newOrder(random).input, paymentMethod: 'pm_ok' };
  await conclude(shop, { merchant, key, field: 'createPayment', input }, random);
}

/** Asks until there is nothing more to ask under the key: across servers, by storms, with repeats. */
async function conclude(shop: Shop, request: Request, random: Random): Promise<Heard | undefined> {
  shop.begun += 1;
  const { doors } = shop.world;
  let dead: Door | undefined;
  const ask = async (
    one: Request = request,
    ms: number = PATIENCE_MS[shop.open ? 'faults' : 'quiet'],
  ) => {
    const others = doors.filter((door) => door !== dead);
    const door = random.one(others.length === 0 ? doors : others);
    const heard = await send(shop, door, one, ms);
    // Whoever heard nothing asks another server next.
    dead = heard.kind === 'broken' ? door : undefined;
    return heard;
  };
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
    // Whoever is refused at once, or cannot connect, comes back slower each time.
    await sleep(random.between(100, 250) * Math.min(tries, 8));
  }
}
