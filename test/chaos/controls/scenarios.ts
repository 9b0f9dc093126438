import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Psp } from '../../../src/payments/index.ts';
import { createDatabase } from '../../support/database.ts';
import { startTestPostgres } from '../../support/with-postgres.ts';
import type { Violation } from '../real/checker.ts';
import { type Bench, openBench } from './bench.ts';
import type { Build } from './build.ts';

/** Something happens to a build of the product; what a checker says of it afterwards. */
export type Scenario = (build: Build) => Promise<readonly Violation[]>;

const ROUNDS = 20;
const AT_ONCE = 8;

async function onBench(
  build: Build,
  play: (bench: Bench) => Promise<readonly Violation[]>,
): Promise<readonly Violation[]> {
  const home = await createDatabase();
  const bench = await openBench(build, home.url);
  try {
    return await play(bench);
  } finally {
    await bench.close();
    await home.drop();
  }
}

/** Many callers of one key at once, over two processes' journals, and nothing is wrong. */
export const race: Scenario = (build) =>
  onBench(build, async (bench) => {
    const journals = [bench.journal(), bench.journal()];
    for (let round = 0; round < ROUNDS; round += 1) {
      const key = `race-${round}`;
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, turn) => {
          const [one, two] = journals;
          return bench.pay((turn % 2 === 0 ? one : two) as NonNullable<typeof one>, key);
        }),
      );
    }
    await bench.recover(bench.journal());
    return bench.violations(true);
  });

/**
 * A request stands still before its send, is taken over, and comes back with "nothing was sent" just
 * when the recoverer has sent and not yet written what came of it.
 */
export const stale: Scenario = (build) =>
  onBench(build, async (bench) => {
    const journal = bench.journal();
    const [arrived, go] = [gate(), gate()];
    const held = bench.pay(journal, 'stale', {
      ...bench.psp,
      charge: async () => {
        arrived.open();
        await go.opened;
        return { kind: 'notSent', reason: 'lease spent', retryAfterMs: 1 };
      },
    });
    await arrived.opened;
    await bench.recover(bench.journal(), {
      ...bench.psp,
      charge: async (charge) => {
        const outcome = await bench.psp.charge(charge);
        go.open();
        await held;
        return outcome;
      },
    });
    await held;
    // Its client does not come back: what is in the journal has to be right without it.
    return (await bench.violations(false)).filter(({ promise }) => promise !== 'liveness');
  });

const SHUTDOWNS = 3;
/** Longer than any statement's budget: what was under way is given up before the database is back. */
const DOWN_MS = 3_000;

/** Immediate shutdowns under load, with a log that is written late where nobody waits for it. */
export const shutdown: Scenario = async (build) => {
  const settings = { wal_writer_delay: '10000ms', wal_writer_flush_after: '1GB' };
  const server = await startTestPostgres({ durable: true, settings });
  const bench = await openBench(build, server.url);
  try {
    for (let turn = 0; turn < SHUTDOWNS; turn += 1) {
      await load(bench, turn, async () => {
        await server.immediateStop();
        await sleep(DOWN_MS);
      });
      await server.start();
      await bench.recover(bench.journal());
      const found = (await bench.violations(false)).filter(({ promise }) => promise !== 'liveness');
      if (found.length > 0) return found;
    }
    return [];
  } finally {
    await bench.close();
    await server.remove();
  }
};

/** Clients that pay one payment after the other while `strike` happens. */
async function load(bench: Bench, turn: number, strike: () => Promise<void>): Promise<void> {
  const journal = bench.journal();
  let paid = 0;
  let stopped = false;
  const enough = gate();
  const clients = Array.from({ length: AT_ONCE }, async (_, client) => {
    for (let number = 0; !stopped; number += 1) {
      const heard = await bench.pay(journal, `load-${turn}-${client}-${number}`);
      if (heard.kind !== 'answered') await sleep(100);
      paid += 1;
      if (paid > AT_ONCE * 15) enough.open();
    }
  });
  await enough.opened;
  await strike();
  stopped = true;
  await Promise.all(clients);
}

/** One event is told again and again, at once and later, over two processes. */
export const told: Scenario = (build) =>
  onBench(build, async (bench) => {
    const { Database, PostgresInbox, hearEvent } = build.product;
    const journal = bench.journal();
    const executed: string[] = [];
    await bench.pay(journal, 'told', {
      ...bench.psp,
      charge: async (charge) => {
        const outcome = await bench.psp.charge(charge);
        executed.push(charge.reference, outcome.kind === 'succeeded' ? outcome.pspReference : '');
        return { kind: 'unknown', reason: 'timeout' };
      },
    });
    const [reference = '', pspReference = ''] = executed;
    const outcome = {
      kind: 'succeeded',
      pspReference,
      amountMinor: 1_050,
      currency: 'EUR',
    } as const;
    const event = { eventId: 'evt_1', type: 'charge.succeeded', reference, outcome };
    const digest = createHash('sha256').update('the body').digest();
    const letter = { ...event, psp: 'simulator', digest, event };
    const databases = [1, 2].map(
      () => new Database({ url: bench.url, poolMax: 2, statementMs: 1_000 }),
    );
    const inboxes = databases.map((database) => new PostgresInbox(database, 2_000));
    const all = () => Promise.all(inboxes.map((inbox) => hearEvent({ inbox, journal }, letter)));
    await all();
    await all();
    await Promise.all(databases.map((one) => one.close()));
    await bench.pay(journal, 'told');
    const kept = await bench.sql`
      select count(*)::int as times, array_agg(distinct result) as results from inbound_webhooks
      group by payload_digest having count(*) > 1`;
    const twice = kept.map((row) => ({
      promise: 'P7',
      what: `one event was decided ${row['times']} times: ${row['results']}`,
    }));
    return [...twice, ...(await bench.violations(true))];
  });

/** A process dies after its send, and the clock of the one that recovers is an hour behind. */
export const behind: Scenario = (build) =>
  onBench(build, async (bench) => {
    const journal = bench.journal();
    const sent = gate();
    const dead: Psp = {
      ...bench.psp,
      charge: async (charge) => {
        await bench.psp.charge(charge);
        sent.open();
        return new Promise(() => {});
      },
    };
    void bench.pay(journal, 'behind', dead);
    await sent.opened;
    await bench.recover(bench.journal());
    await bench.pay(bench.journal(), 'behind');
    return bench.violations(false);
  });

/** A promise that somebody else resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

export const fresh = (): string => `key-${randomUUID()}`;
