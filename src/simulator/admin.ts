import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { z } from 'zod';
import { readJson } from './body.ts';
import type { Books } from './books.ts';
import type { Clerk } from './clerk.ts';
import { answerError, answerJson } from './deliver.ts';
import { executionAsJson } from './operation.ts';
import type { RequestLog } from './request-log.ts';
import { type Scenarios, scenarioBody } from './scenarios.ts';
import { type Settings, type SettingsBody, settingsBody } from './settings.ts';
import type { Webhooks } from './webhooks.ts';

const EXECUTIONS_PER_PIECE = 1_000;

export interface AdminParts {
  readonly books: Books;
  readonly clerk: Clerk;
  readonly requests: RequestLog;
  readonly scenarios: Scenarios;
  readonly webhooks: Webhooks;
  /** As they are now. */
  readonly settings: Settings;
  /** As they were at the start: what a reset goes back to. */
  readonly atStart: Readonly<Settings>;
}

/** The paths under `/admin`: what tests and operators see and set. */
export async function administer(
  parts: AdminParts,
  { method, path, query }: { method: string; path: string; query: URLSearchParams },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  switch (`${method} ${path}`) {
    case 'GET /admin/executions':
      await parts.books.flushed();
      return stream(response, executions(parts.books, query.get('reference')));
    case 'GET /admin/requests':
      return stream(response, parts.requests.asJson());
    case 'POST /admin/scenario': {
      const scenario = await bodyOf(scenarioBody, request, response);
      if (scenario === undefined) return;
      if (parts.scenarios.add(scenario)) return answerJson(response, 200, '{"ok":true}');
      return answerError(response, 400, 'behaviour: there is none of that name');
    }
    case 'POST /admin/settings': {
      const changes = await bodyOf(settingsBody, request, response);
      if (changes === undefined) return;
      change(parts, changes);
      return answerJson(response, 200, '{"ok":true}');
    }
    case 'POST /admin/reset':
      await reset(parts);
      return answerJson(response, 200, '{"ok":true}');
    default:
      return answerError(response, 404, 'there is no such path');
  }
}

function change({ settings, clerk, webhooks }: AdminParts, changes: SettingsBody): void {
  settings.lookupLagMs = changes.lookupLagMs ?? settings.lookupLagMs;
  settings.keyWindowMs = changes.keyWindowMs ?? settings.keyWindowMs;
  settings.authorizationWindowMs = changes.authorizationWindowMs ?? settings.authorizationWindowMs;
  if (changes.seed !== undefined) {
    settings.seed = changes.seed;
    webhooks.reseed(changes.seed);
    clerk.reseed();
  }
  if (changes.webhook !== undefined) webhooks.configure(changes.webhook);
}

/** Empty books, no requests, no scenarios, no webhooks, and the settings of the start. */
async function reset(parts: AdminParts): Promise<void> {
  parts.clerk.stop();
  parts.scenarios.clear();
  parts.webhooks.configure(null);
  await parts.books.clear();
  await parts.requests.clear();
  Object.assign(parts.settings, parts.atStart);
  parts.webhooks.reseed(parts.atStart.seed ?? 0);
  parts.clerk.reseed();
}

function* executions(books: Books, reference: string | null): Generator<string> {
  const listed = books
    .executions()
    .filter(({ operation }) => reference === null || operation.reference === reference);
  yield '[';
  for (let from = 0; from < listed.length; from += EXECUTIONS_PER_PIECE) {
    const piece = listed.slice(from, from + EXECUTIONS_PER_PIECE).map(executionAsJson);
    yield `${from === 0 ? '' : ','}${piece.join(',')}`;
  }
  yield ']';
}

async function stream(
  response: ServerResponse,
  pieces: Iterable<string> | AsyncIterable<Buffer | string>,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  await pipeline(Readable.from(pieces), response);
}

/** Answers 400 and returns undefined if the body is not what the schema accepts. */
async function bodyOf<S extends z.ZodType>(
  schema: S,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<z.output<S> | undefined> {
  const { data, error } = schema.safeParse(await readJson(request));
  if (error === undefined) return data;
  const issue = error.issues[0];
  answerError(response, 400, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not accepted'}`);
  return undefined;
}
