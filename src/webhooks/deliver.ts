import { v7 as uuidV7 } from 'uuid';
import type { AttemptResult, Due } from './delivery.ts';
import type { EndpointKey } from './endpoint.ts';
import { type GlobalId, messageOf, signedHeaders } from './message.ts';
import type { Claim, Outbox, Outcome, Recorded } from './ports.ts';
import { excerpt, judge, type Reply, type Verdict } from './reply.ts';
import { pauseMs, retryAfter } from './schedule.ts';
import type { Sealer } from './sealer.ts';
import type { Sender } from './sender.ts';

export interface DeliverDeps {
  readonly outbox: Outbox;
  readonly sender: Pick<Sender, 'send'>;
  readonly sealer: Pick<Sealer, 'open'>;
  readonly globalId: GlobalId;
  /** The most one attempt may take, in ms. */
  readonly timeoutMs: number;
  readonly retryDelaysMs: readonly number[];
  /** Told of every attempt; it must not throw. */
  readonly onAttempt: (due: Due, result: AttemptResult, recorded: Recorded) => void;
}

/** One look at one endpoint: so many deliveries, so many at once. */
const BATCH = 32;
const LANES = 4;
/** What claiming, filling and writing may take, in ms. */
const SPARE_MS = 10_000;

/** A lease outlives everything that is done under it: no attempt begins later than one time-out. */
export const leaseMs = (timeoutMs: number): number => 2 * timeoutMs + SPARE_MS;

/**
 * Delivers what is due at one endpoint, and sees to it that the rest is looked at in time. Deliveries
 * of one payment go one after another, others side by side. While nothing has been taken, one goes
 * ahead alone: a dead endpoint costs one time-out and no more.
 */
export async function deliverDue(
  deps: DeliverDeps,
  endpoint: EndpointKey,
  signal: AbortSignal,
): Promise<void> {
  const { outbox } = deps;
  const claim = await outbox.claim(endpoint, leaseMs(deps.timeoutMs));
  if (claim !== undefined) {
    try {
      await outbox.fill(claim, BATCH);
      const due = await outbox.due(claim, claim.failures > 0 ? 1 : BATCH);
      if (due.length > 0) await deliverAll(deps, claim, due, signal);
    } finally {
      await outbox.free(claim);
    }
  }
  // Apart from `free`: what came meanwhile found the lease taken, and is seen only after it.
  await outbox.schedule(endpoint);
}

async function deliverAll(
  deps: DeliverDeps,
  claim: Claim,
  due: readonly Due[],
  signal: AbortSignal,
): Promise<void> {
  const secrets = claim.secrets.map((secret) => deps.sealer.open(claim, secret));
  if (secrets.length === 0) throw new TypeError('An endpoint has no secret to sign with.');
  const endsAt = performance.now() + deps.timeoutMs;
  let goesOn = true;
  const lanes = lanesOf(due).map(async (lane) => {
    for (const one of lane) {
      if (!goesOn || signal.aborted || performance.now() > endsAt) return;
      const delivered = await attempt(deps, claim, one, secrets, signal);
      if (!delivered) goesOn = false;
    }
  });
  const ended = await Promise.allSettled(lanes);
  for (const one of ended) if (one.status === 'rejected' && !signal.aborted) throw one.reason;
}

/** A payment's deliveries are in one lane, in their order. */
function lanesOf(due: readonly Due[]): readonly (readonly Due[])[] {
  const lanes = Array.from({ length: LANES }, (): Due[] => []);
  const laneOf = new Map<string, Due[]>();
  for (const one of due) {
    const key = one.happened?.paymentId ?? one.id;
    const lane = laneOf.get(key) ?? lanes.reduce((a, b) => (b.length < a.length ? b : a));
    laneOf.set(key, lane);
    lane.push(one);
  }
  return lanes;
}

/** @returns whether the endpoint took it */
async function attempt(
  deps: DeliverDeps,
  { url, failures }: Claim,
  due: Due,
  secrets: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const message = messageOf(due, deps.globalId);
  const headers = signedHeaders(message, secrets, new Date());
  const beganAt = performance.now();
  const reply = await deps.sender.send(url, headers, message.body, signal);
  const durationMs = Math.round(performance.now() - beganAt);
  const verdict = judge(reply, Date.now());
  const outcome = outcomeOf(due, reply, verdict, { durationMs, failures }, deps.retryDelaysMs);
  const recorded = await deps.outbox.record(due, outcome);
  deps.onAttempt(due, verdict.result, recorded);
  return verdict.result === 'DELIVERED';
}

function outcomeOf(
  { tries }: Due,
  reply: Reply,
  { result, isGone, retryAfterMs }: Verdict,
  { durationMs, failures }: { readonly durationMs: number; readonly failures: number },
  retryDelaysMs: readonly number[],
): Outcome {
  const delivered = result === 'DELIVERED';
  const retry = retryAfter(tries + 1, retryDelaysMs, Math.random(), retryAfterMs);
  return {
    attemptId: uuidV7(),
    result,
    httpStatus: reply.kind === 'answered' ? reply.httpStatus : null,
    durationMs,
    response: reply.kind === 'answered' ? excerpt(reply.body) : null,
    nextInMs: delivered || isGone || retry.kind === 'give-up' ? null : retry.inMs,
    pauseMs: delivered ? 0 : pauseMs(failures + 1, Math.random(), retryAfterMs),
    isGone,
  };
}
