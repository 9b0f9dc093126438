import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Moved } from './stripe-stand-in/books.ts';
import type { Fault } from './stripe-stand-in/faults.ts';

const ENTRY = fileURLToPath(new URL('./stripe-stand-in/process.ts', import.meta.url));

export interface StripeStandIn {
  readonly url: string;
  /** What moved in the stand-in's own books. */
  moved(reference?: string): Promise<readonly Moved[]>;
  requests(): Promise<readonly { method: string; path: string; key: string | null }[]>;
  /** Brings a fault to the next request of this method. */
  fault(method: 'GET' | 'POST', fault: Fault): Promise<void>;
  /** How long a search misses what is new, in ms. */
  lag(lagMs: number): Promise<void>;
  /** The buyer does what the bank asked of him. */
  authenticate(paymentIntent: string): Promise<void>;
  /** Stripe gives up a PaymentIntent by itself. */
  cancel(paymentIntent: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the stand-in for Stripe as a process of its own and returns once it listens. */
export async function startStripe(): Promise<StripeStandIn> {
  const child = spawn(process.execPath, ['--import', 'tsx', ENTRY], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const url = String(line).trim();
  const post = async (path: string, body: object) => {
    await fetch(`${url}/admin/${path}`, { method: 'POST', body: JSON.stringify(body) });
  };
  const get = async (path: string) => (await fetch(`${url}/admin/${path}`)).json();
  return {
    url,
    moved: async (reference) =>
      (await get(`moved${reference === undefined ? '' : `?reference=${reference}`}`)) as Moved[],
    requests: async () => (await get('requests')) as never,
    fault: (method, fault) => post('fault', { method, fault }),
    lag: (lagMs) => post('lag', { lagMs }),
    authenticate: (id) => post('authenticate', { id }),
    cancel: (id) => post('cancel', { id }),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
