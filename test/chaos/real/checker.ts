import { countsOf } from './counts.ts';
import { decisionIn } from './decided.ts';
import { type Exchange, isAnswered, pair } from './exchanges.ts';
import { checkFeed } from './feed-checks.ts';
import { groupBy } from './group-by.ts';
import { checkJournal } from './journal-checks.ts';
import { checkPauses } from './pause-checks.ts';
import type { Ask, EntryRecord, Evidence, Told } from './records.ts';
import { checkWithoutRedis } from './redis-checks.ts';
import { checkSecrets } from './secret-checks.ts';

export interface Violation {
  /** P1 to P19 of the promises. */
  readonly promise: string;
  readonly what: string;
  /** Whose timeline shows it. */
  readonly key?: string;
}

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly counts: Readonly<Record<string, number>>;
  /** The share of the intents that got a final answer, from 0 to 1. */
  readonly concluded: number;
}

/** More than the servers' own deadlines add up to, on a slow machine too: what hangs, hangs for good. */
const ANSWER_WITHIN_MS = 15_000;

/** Whether what the clients were told, the PSP's books and the database are as promised. Pure. */
export function check(evidence: Evidence): Verdict {
  const exchanges = pair(evidence.events);
  const intents = groupBy(exchanges, intentOf);
  const entries = new Map(
    evidence.entries.map((entry) => [`${entry.merchantId} ${entry.key}`, entry]),
  );
  const executions = groupBy(evidence.executions, ({ reference }) => reference);
  const violations = [...checkJournal(evidence)];
  let concluded = 0;
  for (const [intent, asked] of intents) {
    const entry = entries.get(intent);
    violations.push(
      ...checkIntent(asked, entry, (entry && executions.get(entry.id)) ?? []),
      ...checkTimes(asked, evidence.healedAt),
    );
    if (asked.some(({ told }) => told !== undefined && isAnswer(told))) concluded += 1;
  }
  const share = intents.size === 0 ? 1 : concluded / intents.size;
  violations.push(
    ...checkLiveness(exchanges, share, evidence.healedAt),
    ...checkPauses(evidence),
    ...checkFeed(evidence),
    ...checkSecrets(evidence),
  );
  violations.push(...checkWithoutRedis(evidence, exchanges, violations));
  return { violations, concluded: share, counts: countsOf(evidence, exchanges, intents.size) };
}

const LEAST_CONCLUDED = 0.999;
/**
 * A server that refuses everything among faults keeps no promise: so many intents must come to their
 * final answer before all is healed, and so many of the answers must be one. The second depends on how
 * fast the machine is, since a database that is slow is refused for.
 */
const LEAST_ENDED = 0.2;
const LEAST_DECIDED = 0.05;

const intentOf = ({ ask: { merchantId, key } }: Exchange): string => `${merchantId} ${key}`;

function checkLiveness(
  exchanges: readonly Exchange[],
  concluded: number,
  healedAt: number,
): Violation[] {
  const found: Violation[] = [];
  const report = (what: string) => found.push({ promise: 'liveness', what });
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
  if (concluded < LEAST_CONCLUDED)
    report(`only ${percent(concluded)} of the intents got a final answer`);
  const among = exchanges.filter((one) => one.ask.at < healedAt && isAnswered(one));
  const decided = among.filter(({ told }) => told !== undefined && isAnswer(told)).length;
  const ended = new Set(among.filter(({ told }) => told && isAnswer(told)).map(intentOf));
  const begun = new Set(exchanges.filter(({ ask }) => ask.at < healedAt).map(intentOf));
  if (ended.size < LEAST_ENDED * begun.size)
    report(`only ${percent(ended.size / begun.size)} of the intents ended among faults`);
  if (decided < LEAST_DECIDED * among.length)
    report(`only ${percent(decided / among.length)} of what was answered among faults was decided`);
  return found;
}

/** An answer after which a client has nothing to ask any more, be it a refusal of its own mistake. */
function isAnswer({ heard }: Told): boolean {
  if (heard.kind === 'refused')
    return heard.code === 'IDEMPOTENCY_KEY_REUSED' || heard.code === 'BAD_USER_INPUT';
  if (heard.kind === 'broken') return false;
  if (heard.error === 'IN_REVIEW' || heard.status === 'IN_REVIEW') return true;
  if (heard.outcome === 'IN_DOUBT') return false;
  return heard.error !== 'OUTCOME_UNKNOWN' && heard.error !== 'PSP_UNAVAILABLE';
}

const OPERATIONS: Readonly<Record<Ask['field'], readonly string[]>> = {
  createPayment: ['CHARGE', 'AUTHORIZE', 'CANCEL'],
  capturePayment: ['CAPTURE'],
  voidPayment: ['VOID'],
  refundPayment: ['REFUND'],
  confirmPayment: ['CONFIRM'],
  cancelByIdempotencyKey: ['VOID', 'REFUND', 'CANCEL'],
};

/** A confirmation lets its payment's first entry be executed. */
const HAS_NO_EXECUTION: ReadonlySet<string> = new Set(['CANCEL', 'CONFIRM']);

/** A key that was cancelled before anything was sent has no payload of its own: whatever comes is refused. */
const wasCancelled = ({ operation, state, source, reason }: EntryRecord): boolean =>
  operation === 'CANCEL' || (state === 'FAILED' && source === 'OPERATOR' && reason === 'cancelled');

/** Whether an entry can be what this request asked for. */
function isFor({ field, input }: Ask, entry: EntryRecord): boolean {
  if (!OPERATIONS[field].includes(entry.operation)) return false;
  if (wasCancelled(entry)) return true;
  const { amount } = input as { amount?: { amountMinor: number; currency: string } };
  if (amount === undefined) return true;
  return amount.amountMinor === entry.amountMinor && amount.currency === entry.currency;
}

function checkIntent(
  asked: readonly Exchange[],
  entry: EntryRecord | undefined,
  executions: Evidence['executions'],
): Violation[] {
  const found: Violation[] = [];
  const key = asked[0]?.ask.key ?? '';
  const report = (promise: string, what: string) => found.push({ promise, what, key });
  let first:
    | { readonly decision: string; readonly paymentId: string | null; readonly at: number }
    | undefined;
  const accepted = new Set(
    asked.filter(({ told }) => told?.heard.kind === 'answered').map(({ ask }) => payloadOf(ask)),
  );
  for (const { ask, told } of inOrderOfAnswer(asked)) {
    if (told !== undefined && isWronged(ask, told, entry, accepted)) {
      report('P7', 'the payload that the entry has was refused as another one');
    }
    if (told?.heard.kind !== 'answered') continue;
    const { heard } = told;
    const decision = decisionIn(heard);
    const isCancel = ask.field === 'cancelByIdempotencyKey';
    if (decision === undefined) {
      const isStale = first !== undefined && ask.at > first.at && heard.error === 'OUTCOME_UNKNOWN';
      if (isStale && !isCancel) report('P7', `decided ${first?.decision}, then not known`);
      continue;
    }
    if (entry === undefined) {
      if (!isCancel) report('P12', `answered ${decision}, and there is no entry`);
      continue;
    }
    if (!isFor(ask, entry)) report('P8', `another payload was answered ${decision}`);
    if (first !== undefined && first.decision !== decision)
      report('P7', `${first.decision}, then ${decision}`);
    const shows = !isCancel && heard.partly === undefined;
    if (
      shows &&
      first !== undefined &&
      first.paymentId !== null &&
      first.paymentId !== heard.paymentId
    )
      report('P7', `payment ${first.paymentId}, then ${heard.paymentId}`);
    if (!isCancel && heard.paymentId !== null && heard.paymentId !== entry.paymentId)
      report('P9', `payment ${heard.paymentId} is not the entry's`);
    if (first === undefined || (first.paymentId === null && shows))
      first = { decision, paymentId: heard.paymentId, at: told.at };
    if (decision === 'SUCCEEDED' && !HAS_NO_EXECUTION.has(entry.operation)) {
      if (executions.length !== 1)
        report('P3', `answered done with ${executions.length} executions`);
      const [execution] = executions;
      if (execution !== undefined && Date.parse(execution.at) > told.at + 1)
        report('P14', 'answered done before it was executed');
      if (entry.state !== 'SUCCEEDED')
        report('P12', `answered done, and the entry is ${entry.state}`);
    }
    if (decision !== 'SUCCEEDED' && executions.length > 0)
      report('P4', `answered ${decision} and executed`);
  }
  return found;
}

const payloadOf = ({ field, input }: Ask): string => JSON.stringify([field, input]);

/** Once an entry is there it is known whose payload it has; before, the first to come may be refused. */
function isWronged(
  ask: Ask,
  { heard }: Told,
  entry: EntryRecord | undefined,
  accepted: ReadonlySet<string>,
): boolean {
  const refused = heard.kind === 'refused' && heard.code === 'IDEMPOTENCY_KEY_REUSED';
  if (!refused || entry === undefined || ask.at <= entry.createdAt) return false;
  if (wasCancelled(entry)) return false;
  return accepted.has(payloadOf(ask)) && isFor(ask, entry);
}

function inOrderOfAnswer(asked: readonly Exchange[]): readonly Exchange[] {
  return asked.toSorted((a, b) => (a.told?.at ?? Infinity) - (b.told?.at ?? Infinity));
}

/** Nothing hangs: during faults a client may have to hang up, afterwards it never has to. */
function checkTimes(asked: readonly Exchange[], healedAt: number): Violation[] {
  return asked.flatMap(({ ask, told }) => {
    if (ask.at < healedAt || (told !== undefined && told.at - ask.at < ANSWER_WITHIN_MS)) return [];
    const what = told === undefined ? 'never answered' : `answered after ${told.at - ask.at} ms`;
    return [{ promise: 'P18', what: `${what}, asked after the last fault`, key: ask.key }];
  });
}
