import postgres from 'postgres';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { act, acted, busy, type Snapshot, type Verb } from '../support/act.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { ask, eventually, freshKey, paid, pay } from '../support/pay.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';

const OPERATIONS = Number(process.env['SEMEL_TEST_OPERATIONS'] ?? 10_000);
const AT_ONCE = 24;
const CURRENCIES = ['EUR', 'USD', 'JPY', 'KWD', 'CLF'] as const;
const SOURCES = [
  'pm_ok',
  'pm_ok',
  'pm_ok',
  'pm_declined',
  'pm_execute_then_500',
  'pm_fail_before_500',
];
const FAULTS = [
  'execute_then_500',
  'execute_then_reset',
  'fail_before_500',
  'rate_limited',
  'declined',
];
const LOGIN = `server_${Math.random().toString(36).slice(2)}`;

let database: TestDatabase;
let simulator: TestSimulator;
let owner: postgres.Sql;
let pair: readonly [TestServer, TestServer];

/** One server owns its tables; the other may only serve. */
beforeAll(async () => {
  [database, simulator] = await Promise.all([createDatabase(), startTestSimulator()]);
  const env = {
    SIMULATOR_URL: simulator.url,
    PSP_TIMEOUT_MS: '4000',
    CLOCK_DRIFT_MS: '500',
    LOCK_GRACE_MS: '2500',
    RECOVER_AFTER_MS: '8000',
  };
  const one = await startTestServer({ env: { ...env, DATABASE_URL: database.url } });
  owner = postgres(database.url, { max: 1, onnotice: () => {} });
  await owner.unsafe(`create role ${LOGIN} login password 'serves' in role semel_app`);
  const url = new URL(database.url);
  url.username = LOGIN;
  url.password = 'serves';
  const other = await startTestServer({ env: { ...env, DATABASE_URL: url.href } });
  pair = [one, other];
}, 120_000);

afterAll(async () => {
  await Promise.all(pair.map((server) => server.stop()));
  await owner.unsafe(`drop role ${LOGIN}`);
  await owner.end();
  await simulator.stop();
  await database.drop();
});

/** A small repeatable generator (mulberry32): a run that fails can be had again. */
function randomFrom(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

async function run(random: (below: number) => number): Promise<void> {
  const known: Pick<Snapshot, 'id' | 'amount'>[] = [];
  const one = <T>(of: readonly T[]) => of[random(of.length)] as T;
  let left = OPERATIONS;

  async function step(): Promise<void> {
    const server = one(pair);
    const payment = one(known);
    if (payment === undefined || random(3) === 0) {
      const amount = { amountMinor: 1 + random(100_000), currency: one(CURRENCIES) };
      const captureMode = one(['AUTOMATIC', 'MANUAL']);
      const key = freshKey();
      const input = { amount, captureMode, paymentMethod: one(SOURCES) };
      const reply = await busy(() => pay(server, key, input));
      const made = paid(reply).payment;
      if (made !== null) known.push({ id: made.id, amount });
      return;
    }
    if (random(25) === 0) {
      const kind = one(['capture', 'void', 'refund'] as const);
      await simulator.scenario({ behaviour: one(FAULTS), match: { kind }, times: 1 + random(3) });
    }
    const { amountMinor, currency } = payment.amount;
    const part = { amount: { amountMinor: 1 + random(amountMinor), currency } };
    const verb: Verb = one(['capture', 'capture', 'refund', 'refund', 'void']);
    const input = { paymentId: payment.id, ...(verb === 'void' || random(4) === 0 ? {} : part) };
    const key = freshKey();
    acted(await busy(() => act(server, verb, key, input)));
    if (random(5) === 0) acted(await busy(() => act(one(pair), verb, key, input)));
  }

  async function worker(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await step();
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/**
 * What met several faults in a row is asked about again only after minutes: here at once, unless
 * somebody is asking already.
 */
const openEntries = async () => {
  await owner`
    update journal_entries set next_check_at = clock_timestamp()
    where state in ('UNKNOWN', 'PENDING') and lease_until <= clock_timestamp()`;
  return owner`
  select id, operation, state, attempt, reason, psp_reference, sent_at, next_check_at, lease_until
  from journal_entries where state in ('SENDING', 'UNKNOWN', 'PENDING', 'IN_REVIEW')`;
};

/** What the journal says was executed, in the words of the PSP's books. */
const journal = async () => {
  const rows = await owner`
    select id, lower(operation) as kind, amount_minor::float8 as amount, currency
    from journal_entries where state = 'SUCCEEDED' order by id`;
  return rows.map((row) => `${row['id']} ${row['kind']} ${row['amount']} ${row['currency']}`);
};
const books = async () =>
  (await simulator.executions())
    .map((one) => `${one.reference} ${one.kind} ${one.amountMinor} ${one.currency}`)
    .sort();

test(`${OPERATIONS} random operations with faults: the books agree and the ledger balances`, async () => {
  const running = { done: false };
  const watched = (async () => {
    while (!running.done) {
      const off = await owner`
        select currency from postings group by currency
        having sum(case direction when 'DEBIT' then amount_minor else -amount_minor end) <> 0`;
      expect(off).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  })();
  await run(randomFrom(20_261_129)).finally(() => {
    running.done = true;
  });
  await watched;
  await eventually(openEntries, (open) => open.length === 0, 90_000);
  const [ours, theirs] = await Promise.all([journal(), books()]);
  expect(ours.length).toBeGreaterThan(OPERATIONS / 4);
  expect(ours).toEqual(theirs);

  const sums = await owner`
    select p.id from payments p
    cross join lateral (
      select
        coalesce(sum(amount_minor) filter (where operation in ('CHARGE', 'AUTHORIZE')), 0) as held,
        coalesce(sum(amount_minor) filter (where operation in ('CHARGE', 'CAPTURE')), 0) as taken,
        coalesce(sum(amount_minor) filter (where operation = 'REFUND'), 0) as returned,
        coalesce(bool_or(operation = 'VOID'), false) as voided
      from journal_entries e where e.payment_id = p.id and e.state = 'SUCCEEDED') e
    where p.authorized_minor <> e.held or p.captured_minor <> e.taken
      or p.refunded_minor <> e.returned or (p.status = 'VOIDED') <> e.voided
      or p.capture_reserved_minor + p.refund_reserved_minor <> 0 or p.void_reserved`;
  expect(sums).toEqual([]);

  const { body } = await ask(
    pair[1],
    `{ ledgerAccounts { account currency balance }
       ledgerHealth { trialBalance { currency difference } entriesWithoutPostings oldestInDoubt outboxLag } }`,
  );
  const { ledgerAccounts, ledgerHealth } = body.data as {
    ledgerAccounts: { account: string; currency: string; balance: number }[];
    ledgerHealth: unknown;
  };
  expect(ledgerHealth).toEqual({
    trialBalance: [...CURRENCIES].sort().map((currency) => ({ currency, difference: 0 })),
    entriesWithoutPostings: 0,
    oldestInDoubt: null,
    outboxLag: 0,
  });
  const inDoubt = ledgerAccounts.filter(({ account }) => account === 'REFUNDS_IN_DOUBT');
  expect(inDoubt.map(({ balance }) => balance)).toEqual(CURRENCIES.map(() => 0));
}, 300_000);
