import { setMaxListeners } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { type Booked, currentAnswer } from './operation.ts';
import { randomFrom } from './random.ts';

const SEND_TIMEOUT_MS = 5_000;
/** Pauses before the second and later tries of one delivery, in ms. */
const RETRY_PAUSES_MS = [250, 1_000, 4_000];
/** How far `shuffle` spreads events that have no delay of their own, in ms. */
const SHUFFLE_SPREAD_MS = 100;

export const webhookSettings = z.object({
  url: z.url({ protocol: /^https?$/ }),
  /** Base64, with or without the prefix `whsec_`. */
  secret: z.string().refine(isSecret, 'must be base64, with or without the prefix whsec_'),
  delayMs: z.int().min(0).max(2_147_483_647).default(0),
  copies: z.int().min(0).max(100).default(1),
  order: z.enum(['fifo', 'shuffle']).default('fifo'),
  /** True: before each event goes one with another signature that says the opposite. */
  forge: z.boolean().default(false),
});
export type WebhookSettings = z.infer<typeof webhookSettings>;

interface Message {
  readonly id: string;
  readonly body: string;
  readonly signer: Webhook;
}

/** Tells the merchant's server what has happened, as Standard Webhooks; forgotten on restart. */
export class Webhooks {
  readonly #stopped = new AbortController();
  #random: () => number;
  #settings: WebhookSettings | null = null;
  #line: Promise<void> = Promise.resolve();

  /** The seed decides the order of `shuffle`. */
  constructor(seed: number) {
    this.#random = randomFrom(seed);
    // Every delivery that waits listens to it.
    setMaxListeners(0, this.#stopped.signal);
  }

  reseed(seed: number): void {
    this.#random = randomFrom(seed);
  }

  /** What still waits under other settings is dropped. */
  configure(settings: WebhookSettings | null): void {
    this.#settings = settings;
  }

  /** Returns at once; delivery runs beside the caller. */
  announce(booked: Booked): void {
    const settings = this.#settings;
    const type = settings === null ? undefined : eventType(booked);
    if (settings === null || type === undefined) return;
    for (const message of messagesFor(booked, type, settings)) {
      if (settings.order === 'shuffle') {
        const spread = Math.max(settings.delayMs, SHUFFLE_SPREAD_MS);
        void this.#deliver(message, settings, settings.delayMs + spread * this.#random());
      } else {
        const dueAt = Date.now() + settings.delayMs;
        this.#line = this.#line.then(() => this.#deliver(message, settings, dueAt - Date.now()));
      }
    }
  }

  close(): void {
    this.#stopped.abort();
  }

  async #deliver(message: Message, settings: WebhookSettings, delayMs: number): Promise<void> {
    for (const pauseMs of [delayMs, ...RETRY_PAUSES_MS]) {
      await this.#pause(pauseMs);
      if (this.#stopped.signal.aborted || this.#settings !== settings) return;
      if (await this.#send(message, settings.url)) return;
    }
  }

  async #send({ id, body, signer }: Message, url: string): Promise<boolean> {
    const now = new Date();
    try {
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
          'webhook-signature': signer.sign(id, now, body),
        },
        body,
        signal: AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]),
      });
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    const { signal } = this.#stopped;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(wake, ms);
      function wake(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      }
      signal.addEventListener('abort', wake);
    });
  }
}

/** Undefined for what no event exists for: open operations and refused captures and voids. */
function eventType({ operation, executedAt, refusal }: Booked): string | undefined {
  if (operation.kind === 'confirm') return undefined;
  const kind = operation.kind === 'authorize' ? 'charge' : operation.kind;
  if (refusal !== null) return 'charge.declined';
  if (executedAt !== null) return `${kind}.succeeded`;
  if (operation.status !== 'declined') return undefined;
  if (kind === 'charge') return 'charge.declined';
  return kind === 'refund' ? 'refund.failed' : undefined;
}

function messagesFor(booked: Booked, type: string, settings: WebhookSettings): readonly Message[] {
  // A charge that was declined and executed later is told of twice: two events.
  const isLate = booked.operation.status === 'declined' && booked.executedAt !== null;
  const id = `msg_${booked.operation.id}${isLate ? '_late' : ''}`;
  const data = currentAnswer(booked);
  const genuine: Message = {
    id,
    body: eventBody(type, data),
    signer: new Webhook(settings.secret),
  };
  const copies = Array.from({ length: settings.copies }, () => genuine);
  if (!settings.forge) return copies;
  const opposite = eventBody(oppositeOf(type), data);
  const forger = new Webhook(`not ${settings.secret}`, { format: 'raw' });
  return [{ id: `${id}_forged`, body: opposite, signer: forger }, ...copies];
}

function eventBody(type: string, data: string): string {
  return `{"type":"${type}","timestamp":"${new Date().toISOString()}","data":${data}}`;
}

function oppositeOf(type: string): string {
  if (type === 'charge.succeeded') return 'charge.declined';
  if (type === 'refund.succeeded') return 'refund.failed';
  return type.replace(/\.(declined|failed)$/, '.succeeded');
}

function isSecret(secret: string): boolean {
  try {
    return new Webhook(secret) !== null;
  } catch {
    return false;
  }
}
