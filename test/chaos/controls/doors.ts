import postgres from 'postgres';
import { createDatabase } from '../../support/database.ts';
import { ask, freshKey, PAY } from '../../support/pay.ts';
import { startTestRedis } from '../../support/with-redis.ts';
import { startTestServer } from '../../support/with-server.ts';
import { startTestSimulator } from '../../support/with-simulator.ts';
import type { Violation } from '../real/checker.ts';
import { fresh, gate, type Scenario } from './scenarios.ts';

const LOOK_MS = 500;

/**
 * Work over a store alone: the first one's lease is lost, a second one works, and the first one gives its
 * lease back.
 */
export const unlock: Scenario = async ({ product }) => {
  const redis = await startTestRedis();
  const stores = await Promise.all(
    [1, 2, 3].map(async () => {
      const connections = product.connectRedis(redis.url);
      if (!(await connections.ready(5_000))) throw new Error('Redis was not ready.');
      return new product.RedisStore(connections, { budgetMs: 2_000 });
    }),
  );
  const times = { leaseMs: 30_000, answerTtlMs: 60_000, joinWaitMs: 5_000, journaled: false };
  const [one, two, three] = stores.map((store) => new product.Once({ store, ...times }));
  const intent = { scope: 'merchant', key: fresh() };
  const call = { intent, fingerprint: 'the same', onInFlight: 'JOIN' } as const;
  let executions = 0;
  const [begun, goOn, working, done] = [gate(), gate(), gate(), gate()];
  try {
    const first = one?.run({
      ...call,
      work: async () => {
        begun.open();
        await goOn.opened;
        throw new product.NotExecuted('nothing was done');
      },
    });
    await begun.opened;
    await redis.flush();
    const execute = async () => {
      executions += 1;
      working.open();
      await done.opened;
      return { kind: 'done', first: true, answer: 'paid' } as const;
    };
    const second = two?.run({ ...call, work: execute });
    await working.opened;
    goOn.open();
    await first?.catch(() => {});
    const third = three?.run({ ...call, work: execute });
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    done.open();
    await Promise.all([second, third]);
    return executions > 1 ? [{ promise: 'P1', what: `${executions} executions of one key` }] : [];
  } finally {
    for (const store of stores) store.close();
    await redis.stop();
  }
};

/** What nobody outside may read: tables, columns, SQL, SQLSTATEs, places in the code, and what was asked. */
const INSIDE =
  /journal_entries|payments_|idempotency_key|\bcolumn\b|\brelation\b|\bselect\b|\binsert\b|\b42\d{3}\b|Postgres|Statement|\.ts:\d|\.mjs:\d|canary/i;

/** A database that is not as the server needs it: every answer is read for what it gives away. */
export const leak: Scenario = async ({ cli }) => {
  const [database, simulator, redis] = await Promise.all([
    createDatabase(),
    startTestSimulator(),
    startTestRedis(),
  ]);
  const env = { DATABASE_URL: database.url, SIMULATOR_URL: simulator.url, REDIS_URL: redis.url };
  const server = await startTestServer({ env, cli });
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  const found: Violation[] = [];
  try {
    await sql`alter table payments rename column description to something_else`;
    const input = {
      amount: { amountMinor: 1_050, currency: 'EUR' },
      paymentMethod: 'pm_ok',
      description: 'a canary',
    };
    const replies = [
      await ask(server, PAY, { key: freshKey(), input }),
      await ask(server, '{ payments(first: 2) { nodes { id description } } }'),
    ];
    for (const { body } of replies) {
      const errors = (body.errors ?? []).map(({ message, extensions }) => ({
        message,
        extensions,
      }));
      const text = JSON.stringify({ data: body.data, errors });
      const [told] = INSIDE.exec(text) ?? [];
      if (told !== undefined) found.push({ promise: 'P19', what: `a client was told "${told}"` });
      if (!text.includes('INTERNAL_SERVER_ERROR')) throw new Error(`no fault was met: ${text}`);
    }
    return found;
  } finally {
    await Promise.all([sql.end(), server.stop()]);
    await Promise.all([simulator.stop(), redis.stop()]);
    await database.drop();
  }
};
