import {
  GraphQLError,
  GraphQLScalarType,
  Kind,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import { MAX_AMOUNT_MINOR, standing } from '../payments/index.ts';

const DIGITS = /^[1-9][0-9]{0,13}$/;
const AMOUNT_RULE = `an amount is a JSON integer or a string of digits from 1 to ${MAX_AMOUNT_MINOR}`;

function amount(value: unknown): number {
  const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) throw new GraphQLError(AMOUNT_RULE);
  if (number < 1 || number > MAX_AMOUNT_MINOR) throw new GraphQLError(AMOUNT_RULE);
  return number;
}

export const MinorUnits = new GraphQLScalarType<number, number>({
  name: 'MinorUnits',
  serialize: (value) => Number(value),
  parseValue: amount,
  parseLiteral: (node) => amount(literal(node, Kind.INT, Kind.STRING)),
});

const DAY_MS = 86_400_000;
let day = { number: 0, text: '' };

/** The day in UTC, written anew once a day. */
function today(): string {
  const number = Math.floor(Date.now() / DAY_MS);
  if (number !== day.number) {
    day = { number, text: new Date(number * DAY_MS).toISOString().slice(0, 10) };
  }
  return day.text;
}

function currency(value: unknown): string {
  const code = typeof value === 'string' && /^[A-Za-z]{3}$/.test(value) ? value.toUpperCase() : '';
  const found = standing(code, today());
  if (found === 'active') return code;
  const what = code === '' ? 'this is none' : `${code} is ${found}`;
  throw new GraphQLError(`a currency is an ISO 4217 code that is valid today; ${what}`);
}

export const CurrencyCode = new GraphQLScalarType<string, string>({
  name: 'CurrencyCode',
  serialize: String,
  parseValue: currency,
  parseLiteral: (node) => currency(literal(node, Kind.STRING)),
});

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new GraphQLError('an idempotency key is a string');
}

/** Only its type is checked here; its form is checked where the key is used, under its own code. */
export const IdempotencyKey = new GraphQLScalarType<string, string>({
  name: 'IdempotencyKey',
  serialize: String,
  parseValue: text,
  parseLiteral: (node) => text(literal(node, Kind.STRING)),
});

/** RFC 3339 §5.6, with an offset; hours end at 23 (ISO 8601's 24:00 is none of its). */
const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)[Tt](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** The years that RFC 3339 and the database have in common, in UTC. */
const YEARS = { least: 1, most: 9_999 } as const;

function moment(value: unknown): Date {
  const day = typeof value === 'string' ? RFC_3339.exec(value)?.[1] : undefined;
  const date = day === undefined || !isDay(day) ? undefined : new Date(String(value));
  const year = date?.getUTCFullYear() ?? Number.NaN;
  if (date === undefined || !(year >= YEARS.least && year <= YEARS.most)) {
    throw new GraphQLError(
      'a moment is RFC 3339 text with an offset, such as 2026-11-29T12:00:00Z',
    );
  }
  return date;
}

/** False for a day that its month does not have: a Date would move on to the next month. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

export const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  parseValue: moment,
  parseLiteral: (node) => moment(literal(node, Kind.STRING)),
  serialize: (value) => (value instanceof Date ? value : new Date(String(value))).toISOString(),
});

export const SignedMinorUnits = new GraphQLScalarType<bigint, number | string>({
  name: 'SignedMinorUnits',
  serialize: (value) => {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  },
});

export const Decimal = new GraphQLScalarType<string, string>({
  name: 'Decimal',
  serialize: String,
});

type JsonObject = Readonly<Record<string, unknown>>;

function jsonObject(value: unknown): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw new GraphQLError('this is not a JSON object');
}

export const JSONObject = new GraphQLScalarType<JsonObject, JsonObject>({
  name: 'JSONObject',
  serialize: jsonObject,
  parseValue: jsonObject,
  parseLiteral: (node, variables) => jsonObject(valueFromASTUntyped(node, variables)),
});

function literal(node: ValueNode, ...kinds: readonly Kind[]): unknown {
  return kinds.includes(node.kind) && 'value' in node
    ? node.kind === Kind.INT
      ? Number(node.value)
      : node.value
    : undefined;
}

export const scalars = {
  MinorUnits,
  SignedMinorUnits,
  CurrencyCode,
  IdempotencyKey,
  DateTime,
  Decimal,
  JSONObject,
};
