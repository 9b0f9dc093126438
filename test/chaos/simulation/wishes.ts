import type { Scheduler } from './scheduler.ts';
import { cancellation, order, type Request, step } from './server.ts';

/** What clients want in one run. */
export interface Wishes {
  payment(): Request;
  /** What one client wants of the payment that it was told of; if of none, it may cancel the key. */
  after(client: number, first: Request, paymentId: string | null): readonly Request[];
  say(request: Request): string;
}

const STEPS = ['CAPTURE', 'CAPTURE', 'VOID', 'REFUND', 'REFUND'] as const;

/** Two keys in all: one of a payment that may succeed, one of a payment that is declined. */
export function newWishes(scheduler: Scheduler, varied: boolean): Wishes {
  const choose = <T>(all: readonly T[]): T => scheduler.pick(all);
  const method = varied ? choose(['pm_ok', 'pm_ok', 'pm_ok', 'pm_late', 'pm_action']) : 'pm_ok';
  const operation = varied && scheduler.oneIn(2) ? 'AUTHORIZE' : 'CHARGE';
  return {
    payment: () => {
      const key = varied && scheduler.oneIn(4) ? 'other-key' : 'key';
      if (key === 'other-key') return order(key, 1_050, 'pm_declined');
      return order(key, varied && scheduler.oneIn(6) ? 2_000 : 1_050, method, operation);
    },
    after: (client, first, paymentId) => {
      const { idempotencyKey } = first.asked;
      if (scheduler.oneIn(6)) return [cancellation(`cancel-${client}`, idempotencyKey)];
      if (paymentId === null) return [];
      // Some share a key, and then it may be with another payload.
      const key = (turn: number) => (scheduler.oneIn(3) ? 'step' : `step-${client}-${turn}`);
      return Array.from({ length: choose([0, 1, 2]) }, (_, turn) => {
        if (method === 'pm_action' && turn === 0)
          return step(key(turn), paymentId, 'CONFIRM', null);
        return step(key(turn), paymentId, choose(STEPS), choose([null, 400, 700]));
      });
    },
    say: ({ field, asked }) => {
      if (!('operation' in asked)) return field;
      return `${asked.operation} ${'amountMinor' in asked ? asked.amountMinor : ''}`;
    },
  };
}
