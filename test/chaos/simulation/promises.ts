import { isFinal, type PaymentAnswer } from '../../../src/payments/index.ts';
import type { MemoryJournal, Row } from './memory-journal.ts';
import type { MemoryPsp } from './memory-psp.ts';

export interface Heard {
  readonly key: string;
  readonly fingerprint: string;
  readonly answer: PaymentAnswer;
}

/** A promise that was broken; the message begins with its name. */
export class Broken extends Error {
  override readonly name = 'Broken';
  readonly promise: string;

  constructor(promise: string, what: string) {
    super(`${promise}: ${what}`);
    this.promise = promise;
  }
}

export function hold(promise: string, kept: boolean, what: string): void {
  if (!kept) throw new Broken(promise, what);
}

/** What must hold of every row after every effect. */
export function checkRow({ entry, postings, events }: Row): void {
  const { id, state } = entry;
  hold('P16', postings.length === (state === 'SUCCEEDED' ? 1 : 0), `${id} ${state}: ${postings}`);
  const settledEvent = state === 'SUCCEEDED' || state === 'DECLINED';
  hold('P17', !settledEvent || events.at(-1) === state, `${id} is ${state}, told ${events}`);
}

/** The published graph; FAILED goes on only where it is proven that nothing was sent. */
export function checkMove(before: Row['entry'], after: Row['entry']): void {
  if (before.state === after.state) return;
  const next: Readonly<Record<string, readonly string[]>> = {
    SENDING: ['SUCCEEDED', 'DECLINED', 'FAILED', 'UNKNOWN', 'PENDING'],
    UNKNOWN: ['SUCCEEDED', 'DECLINED', 'FAILED', 'PENDING', 'IN_REVIEW'],
    PENDING: ['SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW'],
    FAILED: before.outcomeSource === 'NOT_SENT' ? ['SENDING'] : [],
  };
  const allowed = next[before.state]?.includes(after.state) ?? false;
  hold('P6', allowed, `${before.id} went from ${before.state} to ${after.state}`);
}

/** What must hold of every key once the faults are over and recovery had its time. */
export function checkEnd(
  journal: MemoryJournal,
  psp: MemoryPsp,
  heard: readonly Heard[],
  mayNeedReview: boolean,
): void {
  const rows = [...journal.rows.values()];
  for (const row of rows) {
    const { entry } = row;
    const key = entry.idempotencyKey;
    const ids = rows.filter((one) => one.entry.idempotencyKey === key).map((one) => one.entry.id);
    const executions = psp.executions.filter(({ reference }) => ids.includes(reference));
    hold('P1', executions.length <= 1, `${executions.length} executions of ${key}`);
    const open = !['SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW'].includes(entry.state);
    hold('P10', !open, `${key} is still ${entry.state}`);
    hold('P10', mayNeedReview || entry.state !== 'IN_REVIEW', `${key}: ${entry.reason}`);
    const booked = entry.state === 'SUCCEEDED' || entry.state === 'IN_REVIEW';
    hold('P5', executions.length === 0 || booked, `${key} was executed and is ${entry.state}`);
    checkAnswers(
      key,
      row,
      executions,
      heard.filter((one) => one.key === key),
    );
  }
  const known = new Set([...journal.rows.values()].map(({ entry }) => entry.id));
  for (const { reference } of psp.executions) {
    hold('P5', known.has(reference), `no entry for ${reference}`);
  }
}

function checkAnswers(
  key: string,
  { entry, postings }: Row,
  executions: MemoryPsp['executions'],
  heard: readonly Heard[],
): void {
  const mine = entry.fingerprint.toString('hex');
  let decided: string | undefined;
  for (const { fingerprint, answer } of heard) {
    const { decision } = answer;
    hold('P8', fingerprint === mine, `${key} answered another payload: ${decision.kind}`);
    if (!isFinal(decision)) continue;
    const text = JSON.stringify(decision);
    hold('P7', decided === undefined || decided === text, `${key}: ${decided}, then ${text}`);
    decided = text;
    if (decision.kind === 'succeeded') {
      const [execution] = executions;
      const agrees = executions.length === 1 && execution?.amountMinor === entry.amountMinor;
      hold('P3', agrees, `${key} succeeded with ${executions.length} executions`);
      hold('P3', postings.join() === `${entry.amountMinor}`, `${key} posted ${postings}`);
    } else {
      hold('P4', executions.length === 0, `${key} was answered ${decision.kind} and executed`);
    }
  }
}
