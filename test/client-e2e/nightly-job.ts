/**
 * A nightly job: it pays every invoice that is due, and may be killed and started again at any time.
 * With KEYS=random it is what jobs often are: a fresh key for each try, and nothing written down.
 */
import postgres from 'postgres';
import {
  createPayClient,
  createPayment,
  memoryStore,
  stableKey,
  unreachable,
} from '../../src/client/index.ts';
import { sqlStore } from '../../src/client/stores/sql.ts';

interface Invoice {
  readonly id: number;
  readonly version: number;
  readonly amount_minor: number;
}

const AT_ONCE = 4;

const { DATABASE = '', ENDPOINT = '', API_KEY = '', KEYS = 'stable' } = process.env;
const sql = postgres(DATABASE, { max: 2, onnotice: () => {} });
const pay = createPayClient({
  endpoint: ENDPOINT,
  headers: { authorization: `Bearer ${API_KEY}` },
  store:
    KEYS === 'stable'
      ? sqlStore({
          run: (text, values) => sql.unsafe(text, values),
          owner: 'nightly',
          leaseMs: 600,
        })
      : memoryStore(),
  operations: { createPayment },
});

/** Pays one invoice, and notes it in the books of the shop. */
async function payInvoice({ id, version, amount_minor: amountMinor }: Invoice): Promise<void> {
  const key = KEYS === 'stable' ? stableKey('invoice', id, version) : crypto.randomUUID();
  const input = { amount: { amountMinor, currency: 'EUR' }, paymentMethod: 'pm_ok' };
  const outcome = await pay.run('createPayment', { input }, { key });
  switch (outcome.kind) {
    case 'settled': {
      const { value, replayed } = outcome;
      await sql`update invoices set payment = ${value.id}, replayed = ${replayed} where id = ${id}`;
      process.stdout.write('paid\n');
      return;
    }
    case 'declined':
    case 'rejected':
      await sql`update invoices set problem = ${outcome.problem.code} where id = ${id}`;
      return;
    case 'processing':
    case 'unknown':
    case 'blocked':
      // The next run asks with the same key.
      return;
    default:
      unreachable(outcome);
  }
}

// In no order: what a killed run had in hand is locked for a moment.
const due = await sql<Invoice[]>`
  select id, version, amount_minor from invoices where payment is null order by random()`;
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let invoice = due.shift(); invoice; invoice = due.shift()) await payInvoice(invoice);
  }),
);
await sql.end();
