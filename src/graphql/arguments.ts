import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { badInput } from './refusals.ts';
import { numberProblem, textProblem } from './text.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** JSON inside an argument may nest this deep. */
const MAX_DEPTH = 16;

/**
 * The arguments as they are checked: coerced values, members of input objects that are null or left
 * out are gone (null equals omitted) unless they have a default, which they get then. What is inside
 * a scalar (a JSON object) is data and stays.
 */
export function normalised(args: Arguments, definitions: readonly Definition[]): Arguments {
  return Object.fromEntries(
    definitions
      .map(({ name, type, defaultValue }) => ({ name, type, value: args[name] ?? defaultValue }))
      .filter(({ value }) => value !== undefined && value !== null)
      .map(({ name, type, value }) => [name, normalisedValue(value, type)]),
  );
}

/**
 * The arguments as they are compared: without what has its default value, so that a schema may get
 * new members with defaults and every retry from before still is the same request.
 */
export function withoutDefaults(args: Arguments, definitions: readonly Definition[]): Arguments {
  return Object.fromEntries(
    definitions
      .filter(({ name, defaultValue }) => name in args && args[name] !== defaultValue)
      .map(({ name, type }) => {
        const nullable = getNullableType(type);
        const value = args[name];
        return isInputObjectType(nullable) && !isListType(nullable)
          ? [name, withoutDefaults(value as Arguments, Object.values(nullable.getFields()))]
          : [name, value];
      }),
  );
}

type Definition = GraphQLArgument | GraphQLInputField;

function normalisedValue(value: unknown, type: GraphQLInputType): unknown {
  const nullable = getNullableType(type);
  if (value === null || value === undefined) return null;
  if (isListType(nullable) && Array.isArray(value)) {
    return value.map((item) => normalisedValue(item, nullable.ofType));
  }
  if (isInputObjectType(nullable)) {
    return normalised(value as Arguments, Object.values(nullable.getFields()));
  }
  return value;
}

/**
 * Refuses what no text from outside may hold (see `text.ts`), in every argument at any depth, names
 * of JSON members included.
 *
 * @throws BAD_USER_INPUT naming the argument
 */
export function checkTexts(value: unknown, path: string, depth = 0): void {
  if (depth > MAX_DEPTH) throw badInput(path, 'is nested too deeply');
  if (typeof value === 'string') refuse(path, textProblem(value));
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw badInput(path, 'must not contain a number too large for JSON');
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const problem = textProblem(name);
    if (problem !== undefined) throw badInput(path, `has a member whose name ${problem}`);
    checkTexts(member, path === '' ? name : `${path}.${name}`, depth + 1);
  }
}

/** The same for the numbers inside a JSON object, where no number is an amount. */
export function checkNumbers(value: unknown, path: string): void {
  if (typeof value === 'number') refuse(path, numberProblem(value));
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) checkNumbers(member, `${path}.${name}`);
}

function refuse(path: string, problem: string | undefined): void {
  if (problem !== undefined) throw badInput(path, problem);
}

/** The paths at which two normalised argument objects differ; never the values. */
export function differingPaths(one: unknown, other: unknown, path = ''): readonly string[] {
  if (isPlain(one) && isPlain(other)) {
    const names = new Set([...Object.keys(one), ...Object.keys(other)]);
    return [...names].flatMap((name) =>
      differingPaths(one[name], other[name], path === '' ? name : `${path}.${name}`),
    );
  }
  return JSON.stringify(one) === JSON.stringify(other) ? [] : [path];
}

function isPlain(value: unknown): value is Arguments {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
