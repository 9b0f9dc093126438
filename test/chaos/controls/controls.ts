import type { Control } from '../simulation/controls.ts';
import { leak, unlock } from './doors.ts';
import { behind, race, type Scenario, shutdown, stale, told } from './scenarios.ts';

/** A bug in SQL, Lua, HTTP or the driver's settings, and what is played with the build that has it. */
export interface RealControl extends Control {
  readonly play: Scenario;
  /** The build's clock beside the true one, in ms. */
  readonly clockMs?: number;
  /** True: the scenario runs the server as a process. */
  readonly needsCli?: boolean;
}

const JOURNAL = 'src/postgres/journal.ts';
const OUTCOMES = 'src/postgres/outcome-statements.ts';
const STATEMENTS = 'src/postgres/statements.ts';

export const REAL: readonly RealControl[] = [
  {
    id: 'N4',
    name: 'no UNIQUE on the key',
    plants: [
      {
        file: 'drizzle/0000_tables.sql',
        find: 'CONSTRAINT "journal_entries_intent" UNIQUE("merchant_id","idempotency_key"),',
        replace: '',
      },
    ],
    breaks: ['P1', 'P7', 'P9'],
    play: race,
  },
  {
    id: 'N7',
    name: 'no fence in the UPDATE',
    plants: [
      {
        file: OUTCOMES,
        find: `e.id = t.entry_id and e.attempt = t.attempt
    and e.owner_token = t.owner_token and e.state = t.from_state
    and not`,
        replace: 'e.id = t.entry_id and not',
      },
    ],
    breaks: ['P4', 'P5'],
    play: stale,
  },
  {
    id: 'N12',
    name: 'synchronous_commit is off',
    plants: [
      {
        file: 'src/postgres/pool.ts',
        find: "DateStyle: 'ISO',",
        replace: "DateStyle: 'ISO', synchronous_commit: 'off',",
      },
    ],
    breaks: ['P2', 'P12'],
    play: shutdown,
  },
  {
    id: 'N13',
    name: 'postings and state in two commits',
    plants: [
      {
        file: OUTCOMES,
        find: 'on l.flow = m.flow\n), noted',
        replace: 'on l.flow = m.flow where false\n), noted',
      },
      {
        file: JOURNAL,
        find: "const byEvent = new Map(rows.map((row) => [row['event_id'], row]));",
        replace: `await this.#database.run(\`
      insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
      select e.merchant_id, e.id, l.leg, l.account, l.direction, e.amount_minor, e.currency
      from json_to_recordset($1::text::json) as t(merchant_id uuid, entry_id uuid)
      join journal_entries e on e.merchant_id = t.merchant_id and e.id = t.entry_id
      cross join (values (1, 'psp_clearing', 'DEBIT'), (2, 'merchant_payable', 'CREDIT'))
        as l(leg, account, direction)
      where e.state = 'SUCCEEDED' on conflict do nothing\`, [text], budgetMs);
    const byEvent = new Map(rows.map((row) => [row['event_id'], row]));`,
      },
    ],
    breaks: ['P3', 'P16'],
    play: shutdown,
  },
  {
    id: 'N14',
    name: 'a lease is given back without its token',
    plants: [
      {
        file: 'src/redis/release-1.lua',
        find: 'if entry.token ~= token then return 0 end',
        replace: '',
      },
    ],
    breaks: ['P1'],
    play: unlock,
  },
  {
    id: 'N15',
    name: 'webhooks without deduplication',
    plants: [
      {
        file: 'src/postgres/inbox.ts',
        find: 'event_id: eventId,',
        replace: 'event_id: eventId + uuidV7(),',
      },
    ],
    breaks: ['P7'],
    play: told,
  },
  {
    id: 'N16',
    name: '"insert, else select" in one statement',
    plants: [
      {
        file: STATEMENTS,
        find: 'select id as payment_id, created_at, metadata from paid`;',
        replace: `select id as payment_id, created_at, metadata, null as standing from paid
union all
select a.payment_id, e.created_at, a.metadata, e.state from asked a
join journal_entries e on e.merchant_id = a.merchant_id and e.idempotency_key = a.idempotency_key\`;`,
      },
      {
        file: JOURNAL,
        find: "if (row !== undefined) return { kind: 'opened', hold: newHold(draft, row) };",
        replace: `if (row === undefined) throw new TypeError('no row came back');
      if (row['standing'] === null) return { kind: 'opened', hold: newHold(draft, row) };`,
      },
    ],
    breaks: ['P18'],
    play: race,
  },
  {
    id: 'N17',
    name: 'a raw error goes to the client',
    plants: [
      {
        file: 'src/graphql/mask.ts',
        find: "message: 'The server failed to answer this request.',",
        replace: 'message: String(original),',
      },
    ],
    breaks: ['P19'],
    play: leak,
    needsCli: true,
  },
  {
    id: 'N18',
    name: 'leases by the clock of the server',
    plants: [
      {
        file: OUTCOMES,
        find: 'where next_check_at <= clock_timestamp() and psp',
        replace: `where next_check_at <= '\${new Date().toISOString()}'::timestamptz and psp`,
      },
    ],
    breaks: ['P10'],
    play: behind,
    clockMs: -3_600_000,
  },
];
