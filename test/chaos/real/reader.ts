import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '../../support/sse.ts';
import type { Merchant } from './places.ts';
import type { ReadRecord } from './records.ts';
import type { World } from './world.ts';

const STREAM = `subscription($after: String) {
  paymentEvents(after: $after) { id type cursor } }`;
const FIRST = '{ paymentEvents(first: 1) { nodes { id type cursor } } }';
const POLL_MS = 50;
/** A stream that was silent for so long is left for one at another server. */
const SILENCE_MS = 5_000;
/** So many results of one stream are looked through again and again. */
const MOST_RESULTS = 200;

interface Told {
  readonly id: string;
  readonly type: string;
  readonly cursor: string;
}

/** Reads every merchant's events through all faults, from where it was whenever it is cut off. */
export class Reader {
  readonly #world: World;
  readonly #file: string;
  readonly #ended: Promise<unknown>;
  #open = true;
  read = 0;

  constructor(world: World, file: string) {
    this.#world = world;
    this.#file = file;
    writeFileSync(file, '');
    this.#ended = Promise.all(world.merchants.map((merchant) => this.#follow(merchant)));
  }

  /** Everything that was read, in its order. */
  async stop(): Promise<readonly ReadRecord[]> {
    this.#open = false;
    await this.#ended;
    const lines = readFileSync(this.#file, 'utf8').split('\n');
    return lines.filter(Boolean).map((line) => JSON.parse(line) as ReadRecord);
  }

  async #follow(merchant: Merchant): Promise<void> {
    let after: string | undefined;
    for (let turn = 0; this.#open; turn += 1) {
      const door = this.#world.doors[turn % this.#world.doors.length];
      const target = { url: door?.url ?? '', apiKey: merchant.apiKey };
      try {
        // Who has no place yet asks for the first one: a stream begins with what is still to come.
        after = await (after === undefined
          ? this.#first(target, merchant)
          : this.#stream(target, merchant, after));
      } catch {
        // Cut off, or nobody there: again, at another server.
      }
      await sleep(POLL_MS * 2);
    }
  }

  #note({ id: merchantId }: Merchant, { id, type }: Told): void {
    const ownId = Buffer.from(id, 'base64url').toString().slice('PaymentEvent:'.length);
    const record: ReadRecord = { merchantId, id: ownId, type };
    appendFileSync(this.#file, `${JSON.stringify(record)}\n`);
    this.read += 1;
  }

  async #first(
    target: { url: string; apiKey: string },
    merchant: Merchant,
  ): Promise<string | undefined> {
    const response = await fetch(`${target.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${target.apiKey}` },
      body: JSON.stringify({ query: FIRST }),
      signal: AbortSignal.timeout(SILENCE_MS),
    });
    const { data } = (await response.json()) as { data?: { paymentEvents: { nodes: Told[] } } };
    const first = data?.paymentEvents.nodes[0];
    if (first !== undefined) this.#note(merchant, first);
    return first?.cursor;
  }

  /** @returns the place that was reached when the stream ended, or was silent for too long */
  async #stream(
    target: { url: string; apiKey: string },
    merchant: Merchant,
    from: string,
  ): Promise<string> {
    const headers = { 'last-event-id': from };
    const stream = await listen(target, { query: STREAM, variables: { after: from }, headers });
    let after = from;
    const ended = { yes: false };
    void stream.ended.then(() => {
      ended.yes = true;
    });
    let heardAt = performance.now();
    let results = 0;
    try {
      for (;;) {
        const isLast = ended.yes;
        const frames = stream.results();
        for (const { data } of frames.slice(results)) {
          const told = data?.['paymentEvents'] as Told | undefined;
          if (told === undefined) return after;
          this.#note(merchant, told);
          after = told.cursor;
          heardAt = performance.now();
        }
        results = frames.length;
        if (results > MOST_RESULTS) return after;
        const silent = performance.now() - heardAt > SILENCE_MS;
        if (isLast || silent || !this.#open) return after;
        await sleep(POLL_MS);
      }
    } finally {
      stream.close();
    }
  }
}
