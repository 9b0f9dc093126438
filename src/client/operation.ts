import { nameIn, type TypedDocument, textOf } from './document.ts';
import type { Outcome, Problem, Verdict } from './outcome.ts';

/** A GraphQL document with the variable that carries the key, and the meaning of its data. */
export interface Request<Ok, P extends Problem> {
  readonly name: string;
  readonly text: string;
  /** What servers with trusted documents know the text by; from `persistedDocuments` of codegen. */
  readonly id?: string | undefined;
  readonly key: string;
  /** May throw or return undefined for data it does not know: that is no crash (see `decide.ts`). */
  read(data: unknown): Verdict<Ok, P> | undefined;
}

/** A mutation that happens once for each key. `Vars` are its variables without the key. */
export interface Operation<Vars, Ok, P extends Problem> extends Request<Ok, P> {
  /** How to find out what became of a key without sending the mutation again. */
  readonly lookup?: Request<Ok, P>;
  /** Never there; it carries the type of the variables. */
  readonly variables?: (variables: Vars) => void;
}

/** Any operation, whatever its types. */
export type AnyOperation = Operation<never, unknown, Problem>;

export type VarsOf<O> = O extends Operation<infer Vars, unknown, Problem> ? Vars : never;
export type OutcomeOf<O> = O extends Operation<never, infer Ok, infer P> ? Outcome<Ok, P> : never;

/** The names of variables that are text and required: only these can carry a key. */
type TextVars<Vars> = { [K in keyof Vars]-?: Vars[K] extends string ? K : never }[keyof Vars];
type OkOf<R> = R extends { readonly is: 'settled'; readonly value: infer Value } ? Value : never;
type ProblemOf<R> = R extends { readonly problem: infer P extends Problem } ? P : never;

/** How to look a key up: a query with one variable for it. */
export interface Lookup<Data, Vars, R extends Verdict> {
  readonly query: TypedDocument<Data, Vars>;
  readonly key: TextVars<Vars> & string;
  read(data: Data): R;
}

/**
 * Makes an operation of a typed document.
 *
 * @param definition.key the variable that carries the key: a required text variable of the document
 * @param definition.read what the data mean; a case that is left out fails to compile
 * @param definition.lookup how to ask about a key without sending the mutation; without it, an
 *   intent whose parameters are gone (after a reload) cannot be settled by the client
 */
export function idempotent<
  Data,
  Vars,
  Key extends TextVars<Vars> & string,
  R extends Verdict,
  LookData = never,
  LookVars = never,
>(definition: {
  readonly mutation: TypedDocument<Data, Vars>;
  readonly key: Key;
  read(data: Data): R;
  readonly lookup?: Lookup<LookData, LookVars, Verdict<OkOf<R>, ProblemOf<R>>>;
}): Operation<Omit<Vars, Key>, OkOf<R>, ProblemOf<R>> {
  const { mutation, key, read, lookup } = definition;
  type Read = Request<OkOf<R>, ProblemOf<R>>['read'];
  return {
    ...request(mutation, key, read as Read),
    ...(lookup && { lookup: request(lookup.query, lookup.key, lookup.read as Read) }),
  };
}

function request<Ok, P extends Problem>(
  document: object & { readonly __meta__?: unknown },
  key: string,
  read: Request<Ok, P>['read'],
): Request<Ok, P> {
  const text = textOf(document);
  const { hash } = Object(document.__meta__) as { readonly hash?: string };
  return { name: nameIn(text), text, id: hash, key, read };
}
