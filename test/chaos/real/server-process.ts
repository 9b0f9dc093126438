import diagnostics from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { GraphQLServer } from '../../../src/graphql/index.ts';
import { GraphQLEndpoint, HttpServer } from '../../../src/http/index.ts';
import {
  PostgresCancels,
  PostgresFollowUps,
  PostgresInbox,
  PostgresJournal,
} from '../../../src/postgres/index.ts';
import { RedisStore } from '../../../src/redis/index.ts';
import { Feed } from '../../../src/workers/index.ts';
import type { Action, Point } from './points.ts';

/**
 * The server as it is (`semel serve`), with a blow that can be armed at one point at a time. The
 * points lie around the ports and in the HTTP client's own diagnostics: the product has none.
 *
 * Standard input brings `arm <point> <action>`, `disarm` and `go`, and the variable ARMED `<point>
 * <action>` for a start; file descriptor 3 takes `hit <point> <detail>` before the blow falls. Without
 * its parent it ends at once.
 */
const REPORTS = 3;
const BUSY_MS = 2_000;
/** No request is held for longer, should nobody say `go`. */
const HELD_MS = 5_000;

interface Blow {
  readonly point: Point;
  readonly action: Action;
}

function blowIn(text: string): Blow | undefined {
  const [point, action] = text.split(' ');
  return action === undefined ? undefined : { point: point as Point, action: action as Action };
}

let armed = blowIn(process.env['ARMED'] ?? '');
let goOn: () => void = () => {};

function takes(point: Point, detail = ''): Action | undefined {
  if (armed?.point !== point) return undefined;
  const { action } = armed;
  armed = undefined;
  writeSync(REPORTS, `hit ${point} ${detail}\n`);
  return action;
}

function strike(action: Action): void {
  if (action === 'kill') process.kill(process.pid, 'SIGKILL');
  if (action === 'stop') process.kill(process.pid, 'SIGSTOP');
  if (action !== 'block') return;
  const until = performance.now() + BUSY_MS;
  while (performance.now() < until);
}

/** At a point where nothing can be awaited. */
function pass(point: Point): void {
  const action = takes(point);
  if (action !== undefined) strike(action);
}

async function reach(point: Point, detail?: string): Promise<void> {
  const action = takes(point, detail);
  if (action === 'hold') {
    await new Promise<void>((resolve) => {
      goOn = resolve;
      setTimeout(resolve, HELD_MS).unref();
    });
  } else if (action !== undefined) strike(action);
}

/** Once the caller has handed something to the operating system, and before it can be answered. */
const soon = (point: Point): unknown => armed?.point === point && setTimeout(pass, 1, point);

interface Around {
  readonly before?: Point;
  readonly sent?: Point;
  readonly after?: Point;
  /** Whether `after` is reached, by what came back. */
  readonly if?: (came: never) => boolean;
  /** What there is to say of it. */
  readonly detail?: (...given: never[]) => string;
}

/** Puts points around a method of a class. */
function around(type: { readonly prototype: object }, method: string, points: Around): void {
  const prototype = type.prototype as Record<string, (...given: unknown[]) => Promise<unknown>>;
  const original = prototype[method];
  if (original === undefined) throw new Error(`there is no method ${method}`);
  prototype[method] = async function (...given) {
    const detail = points.detail?.(...(given as never[]));
    if (points.before !== undefined) await reach(points.before, detail);
    const coming = original.apply(this, given);
    if (points.sent !== undefined) soon(points.sent);
    const came = await coming;
    const counts = points.if === undefined || points.if(came as never);
    if (points.after !== undefined && counts) await reach(points.after);
    return came;
  };
}

interface Told {
  readonly hold: { readonly entry: { readonly id: string; readonly attempt: number } };
  readonly conclusion: { readonly state: string; readonly source: string | null };
}

const T1 = { before: 'T1', sent: 'T1-sent', after: 'T1-done' } as const;
around(GraphQLEndpoint, 'handle', { before: 'request' });
around(RedisStore, 'claim', {
  before: 'claim',
  sent: 'claim-sent',
  after: 'claimed',
  if: ({ kind }: { kind: string }) => kind === 'run',
});
around(PostgresJournal, 'open', T1);
around(PostgresFollowUps, 'open', T1);
around(PostgresCancels, 'cancel', T1);
around(PostgresJournal, 'settle', {
  before: 'T2',
  sent: 'T2-sent',
  after: 'T2-done',
  detail: ({ entry }: Told['hold'], { state, source }: Told['conclusion']) =>
    [entry.id, entry.attempt, state, source].join(' '),
});
around(RedisStore, 'settle', { before: 'remember', after: 'remembered' });
around(RedisStore, 'release', { after: 'unlocked' });
around(PostgresJournal, 'takeOver', {
  after: 'taken-over',
  if: (taken: readonly unknown[]) => taken.length > 0,
});
around(HttpServer, 'drain', { sent: 'draining' });
around(PostgresInbox, 'find', { before: 'webhook' });
around(PostgresInbox, 'keep', { after: 'webhook-kept' });
around(GraphQLServer, 'start', { before: 'boot' });

const { wake } = Feed.prototype;
Feed.prototype.wake = function (this: Feed, ends) {
  pass('numbered');
  wake.call(this, ends);
};
diagnostics.subscribe('net.client.socket', () => soon('migrating'));

const end = ServerResponse.prototype.end;
ServerResponse.prototype.end = function (this: ServerResponse, ...given: unknown[]) {
  const [text] = given;
  if (armed?.point === 'reply' && typeof text === 'string' && text.startsWith('{')) {
    this.write(text.slice(0, text.length / 2));
    setTimeout(() => {
      pass('reply');
      end.apply(this, [text.slice(text.length / 2)] as never);
    }, 1);
    return this;
  }
  return end.apply(this, given as never);
} as typeof end;

interface Spoken {
  readonly request: { readonly method: string; readonly body: unknown };
}
const PSP_POINTS = {
  'undici:client:sendHeaders': 'psp-headers',
  'undici:request:bodySent': 'psp-body',
  'undici:request:headers': 'psp-status',
  'undici:request:trailers': 'psp-answer',
} as const;
for (const [channel, point] of Object.entries(PSP_POINTS)) {
  diagnostics.subscribe(channel, (message) => {
    const { method } = (message as Spoken).request;
    if (method === 'POST') pass(point);
    else if (point === 'psp-answer') pass('asked');
  });
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [word, point, action] = line.split(' ');
    if (word === 'arm') armed = blowIn(`${point} ${action}`);
    if (word === 'disarm') armed = undefined;
    if (word === 'go') goOn();
  })
  .on('close', () => process.kill(process.pid, 'SIGKILL'));

process.argv[2] = 'serve';
await import('../../../src/main/cli.ts');
