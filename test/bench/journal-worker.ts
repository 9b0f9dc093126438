/**
 * The product's own journal without HTTP and PSP: a closed loop of T1 and T2. A process of its own,
 * told one round at a time over IPC.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { concludeSend, type Hold } from '../../src/payments/index.ts';
import { Database, PostgresJournal } from '../../src/postgres/index.ts';
import { newPayment } from '../support/new-payment.ts';
import type { Seen } from './load.ts';
import { quantile } from './statistics.ts';

export interface JournalRound {
  readonly merchantId: string;
  readonly concurrency: number;
  readonly ms?: number;
  readonly requests?: number;
}

const BUDGET_MS = 10_000;
const database = new Database({
  url: process.env['DATABASE_URL'] ?? '',
  poolMax: 8,
  statementMs: BUDGET_MS,
});
const journal = new PostgresJournal(database, {
  leaseMs: 60_000,
  recoverAfterMs: 120_000,
  recoveryLeaseMs: 60_000,
  openBudgetMs: BUDGET_MS,
  settleBudgetMs: BUDGET_MS,
});

async function open(merchantId: string): Promise<Hold> {
  const fingerprint = { version: 1, digest: randomBytes(32) };
  const opened = await journal.open(newPayment({ merchantId, fingerprint, psp: 'simulator' }));
  if (opened.kind !== 'opened') throw new Error(`T1 said ${opened.kind}.`);
  return opened.hold;
}

async function settle(hold: Hold): Promise<void> {
  const { amountMinor, currency } = hold.entry;
  const outcome = { kind: 'succeeded', pspReference: randomUUID(), amountMinor, currency } as const;
  const settled = await journal.settle(hold, concludeSend(hold.entry, outcome));
  if (!settled.moved) throw new Error('T2 did not move the entry.');
}

async function play({ merchantId, concurrency, ms, requests }: JournalRound): Promise<Seen> {
  const times: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + (ms ?? Number.POSITIVE_INFINITY);
  let left = requests ?? Number.POSITIVE_INFINITY;
  const caller = async () => {
    while (performance.now() < endsAt && left-- > 0) {
      const openedAt = performance.now();
      await settle(await open(merchantId));
      times.push(performance.now() - openedAt);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  const tookMs = performance.now() - startedAt;
  times.sort((one, other) => one - other);
  return {
    requests: times.length,
    right: times.length,
    ms: tookMs,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    refused: 0,
    wrong: 0,
    firstWrong: null,
    keys: times.length,
  };
}

process.on('message', (round: JournalRound) => {
  play(round).then(
    (seen) => process.send?.(seen),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
