import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Message } from '../graphql/index.ts';

/** Of https://html.spec.whatwg.org/multipage/server-sent-events.html; no proxy may hold it back. */
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
} as const;
/** When a client that was cut off comes back, in ms. */
const RETRY_MS = 1_000;
const COMPLETE = 'event: complete\ndata:\n\n';

/** One answer as server-sent events (graphql-sse, "distinct connections mode"). */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #end = new AbortController();
  #stalled = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.once('close', () => this.#end.abort());
  }

  /** Aborted when it has ended, whoever ended it. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /**
   * Sends until there is no more or it has ended. The next message is not asked for before this one
   * has left the process, so that a slow client costs no memory.
   */
  async send(messages: AsyncIterable<Message>, onSent: () => void): Promise<void> {
    if (this.signal.aborted) return;
    this.#response.writeHead(200, HEADERS);
    this.#response.write(`retry: ${RETRY_MS}\n\n`);
    for await (const message of messages) {
      if (this.signal.aborted) return;
      await this.#write(frameOf(message));
      if (message.text !== undefined) onSent();
    }
    if (!this.signal.aborted) this.complete();
  }

  /** A sign of life, if the client takes any; one that takes nothing for `patience` signs is cut off. */
  beat(patience: number): void {
    if (!this.#response.headersSent || this.signal.aborted) return;
    if (!this.#response.writableNeedDrain) {
      this.#stalled = 0;
      this.#response.write(':\n\n');
    } else if (++this.#stalled >= patience) {
      this.#response.destroy();
    }
  }

  /** The last word: the client does not come back by itself. @param text a last result, as JSON */
  complete(text?: string): void {
    if (this.#response.writableNeedDrain) this.#response.destroy();
    else this.#close(text === undefined ? COMPLETE : frameOf({ id: '', text }) + COMPLETE);
  }

  /** Without a last word: the client comes back and goes on. */
  cut(): void {
    if (this.#response.writableNeedDrain) this.#response.destroy();
    else this.#close('');
  }

  #close(last: string): void {
    if (this.#response.headersSent) this.#response.end(last);
    this.#end.abort();
  }

  async #write(text: string): Promise<void> {
    if (this.#response.write(text)) return;
    // Rejects if it is aborted first, which the loop then sees.
    await once(this.#response, 'drain', { signal: this.signal }).catch(() => {});
  }
}

/** JSON has no line breaks of its own. */
function frameOf({ id, text }: Message): string {
  const named = id === '' ? '' : `id: ${id}\n`;
  return text === undefined ? `${named}\n` : `${named}event: next\ndata: ${text}\n\n`;
}
