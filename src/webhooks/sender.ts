import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';
import type { AttemptResult } from './delivery.ts';
import type { Reply } from './reply.ts';
import type { Resolve } from './resolver.ts';

export interface SenderOptions {
  /** The most one attempt may take, in ms. */
  readonly timeoutMs: number;
  /** Judges each address that is about to be connected to. */
  readonly mayConnect: (address: string) => boolean;
  /** All addresses of a name; the system's own if left out. */
  readonly resolve?: Resolve | undefined;
}

/** As much of an answer as is read; the rest is not waited for. */
const MOST_BYTES = 16 * 1_024;
const BODY_MS = 1_000;

class DestinationRefused extends Error {
  override readonly name = 'DestinationRefused';
}

class NotResolved extends Error {
  override readonly name = 'NotResolved';
}

/**
 * Sends to addresses that somebody else has named. An address is judged where it is connected to: the
 * one that was judged is the one that is used, whatever the name means a moment later. Redirects are
 * not followed, proxies of the environment are not used.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #agent: Agent;

  constructor(options: SenderOptions) {
    this.#options = options;
    const connect = buildConnector({ timeout: options.timeoutMs, lookup: this.#lookup() });
    this.#agent = new Agent({
      connect: (target, done) => {
        // Node asks no resolver about what is an address already.
        const host = target.hostname.replace(/^\[|\]$/g, '');
        if (isIP(host) !== 0 && !options.mayConnect(host))
          return done(new DestinationRefused(), null);
        connect(target, (...[error, socket]) => {
          if (error !== null) return done(error, null);
          if (options.mayConnect(socket.remoteAddress ?? '')) return done(null, socket);
          socket.destroy();
          done(new DestinationRefused(), null);
        });
      },
      headersTimeout: options.timeoutMs,
      maxHeaderSize: MOST_BYTES,
    });
  }

  /** One request at most. Never throws, but for the signal. */
  async send(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<Reply> {
    const deadline = AbortSignal.timeout(this.#options.timeoutMs);
    try {
      const answer = await request(url, {
        method: 'POST',
        headers,
        body,
        dispatcher: this.#agent,
        signal: AbortSignal.any([signal, deadline]),
      });
      const retryAfter = answer.headers['retry-after'];
      return {
        kind: 'answered',
        httpStatus: answer.statusCode,
        retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
        body: await beginningOf(answer),
      };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'unanswered', result: deadline.aborted ? 'TIMED_OUT' : whyNot(error) };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #lookup(): LookupFunction {
    const { mayConnect, resolve = (name) => systemLookup(name, { all: true }) } = this.#options;
    return (hostname, { all, family }, done) => {
      resolve(hostname).then(
        (found) => {
          const fit =
            family === 4 || family === 6 ? found.filter((one) => one.family === family) : found;
          const allowed = fit.filter(({ address }) => mayConnect(address));
          const [first] = allowed;
          if (first === undefined) {
            return done(fit.length === 0 ? new NotResolved() : new DestinationRefused(), '');
          }
          if (all) done(null, [...allowed]);
          else done(null, first.address, first.family);
        },
        () => done(new NotResolved(), ''),
      );
    };
  }
}

/** Whatever becomes of the rest: the status was there, and that is what counts. */
async function beginningOf({ body }: Dispatcher.ResponseData): Promise<string> {
  const timer = setTimeout(() => body.destroy(), BODY_MS);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length >= MOST_BYTES) break;
    }
  } catch {
    // Cut off: what is here is here.
  } finally {
    clearTimeout(timer);
    body.on('error', () => {}).destroy();
  }
  return Buffer.concat(chunks).subarray(0, MOST_BYTES).toString('utf8');
}

const TIMEOUTS = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

function whyNot(error: unknown): Exclude<AttemptResult, 'DELIVERED'> {
  const causes = error instanceof AggregateError ? error.errors : [error];
  const all = causes.flatMap((one) =>
    one instanceof Error && one.cause ? [one, one.cause] : [one],
  );
  if (all.some((one) => one instanceof DestinationRefused)) return 'DESTINATION_REFUSED';
  if (all.some((one) => one instanceof NotResolved)) return 'NOT_RESOLVED';
  const codes = all.map((one) => String((one as { code?: unknown } | null)?.code ?? ''));
  if (codes.some((code) => TIMEOUTS.has(code))) return 'TIMED_OUT';
  if (
    codes.some((code) =>
      /^(ERR_(TLS|SSL)|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code),
    )
  ) {
    return 'TLS_FAILED';
  }
  return 'NOT_CONNECTED';
}
