import type { PaymentFilter, PaymentPageRequest } from '../payments/index.ts';
import { PAYMENT_COLUMNS } from './rows.ts';

/** Each member of a filter as a condition on a payment, with `$` for the parameter. */
const CONDITIONS: { readonly [M in keyof PaymentFilter]-?: string } = {
  status: `p.status = any(string_to_array($, ','))`,
  currency: 'p.currency = $::char(3)',
  amountMin: 'p.amount_minor >= $::bigint',
  amountMax: 'p.amount_minor <= $::bigint',
  createdAfter: 'p.created_at >= $::timestamptz',
  createdBefore: 'p.created_at < $::timestamptz',
  transactionId: 'p.transaction_id = $',
  metadata: 'p.metadata @> $::text::jsonb',
};

type Member = keyof PaymentFilter;
const MEMBERS = Object.keys(CONDITIONS) as Member[];

/**
 * The statement for a page: ids are made in the order of time, so a place between two ids stays where
 * it is while payments arrive. Only the conditions that are asked for are in it.
 */
export function pageStatement(
  merchantId: string,
  { first, after, filter = {}, oldestFirst = false }: PaymentPageRequest,
): { readonly text: string; readonly parameters: readonly unknown[] } {
  const parameters: unknown[] = [merchantId, after ?? null, first + 1];
  const conditions = MEMBERS.filter((member) => filter[member] !== undefined).map((member) => {
    parameters.push(parameterOf(filter[member]));
    return `and ${CONDITIONS[member].replace('$', `$${parameters.length}`)}`;
  });
  const [beyond, order] = oldestFirst ? ['>', 'asc'] : ['<', 'desc'];
  const text = `
select ${PAYMENT_COLUMNS} from payments p
where p.merchant_id = $1::uuid and p.status <> 'NOT_SENT'
  and ($2::uuid is null or p.id ${beyond} $2::uuid) ${conditions.join(' ')}
order by p.id ${order} limit $3::integer`;
  return { text, parameters };
}

function parameterOf(value: PaymentFilter[Member]): unknown {
  if (Array.isArray(value)) return value.join(',');
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : value;
}
