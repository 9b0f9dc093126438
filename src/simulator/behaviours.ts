import type { Status } from './operation.ts';

/** How an answer leaves, or fails to. */
export type Delivery =
  | 'plain'
  | 'created'
  | 'extra_members'
  | 'lowercase_currency'
  | 'hang'
  | 'reset'
  | 'truncate'
  | 'garbage'
  | 'empty'
  | 'unknown_status'
  | 'no_id'
  | 'stall'
  | 'drip'
  | 'redirect'
  | { readonly status: number };

/** What is done with one request. */
export interface Plan {
  /** What the caller gets in place of any work; null: the work is done. */
  readonly instead: Delivery | null;
  /** How many tries of one idempotency key meet `instead`, if a token asks for it. */
  readonly insteadTimes: number;
  /** Time before the work, in ms. */
  readonly waitMs: number;
  /** True: nothing is answered, and the work is done after `waitMs` even if the caller left. */
  readonly late: boolean;
  readonly status: Status;
  readonly declineCode: string | null;
  readonly soft: boolean;
  /** Time until a pending operation succeeds, or one that was declined is executed after all, in ms. */
  readonly settleMs: number;
  /** True: a charge that is declined is executed all the same, later. */
  readonly changesMind: boolean;
  readonly wrongAmount: boolean;
  readonly delivery: Delivery;
  /** What a 429 or 503 asks the caller to wait, in ms. */
  readonly retryAfterMs: number;
  /** Pause between two bytes of `drip`, in ms. */
  readonly dripMs: number;
}

const OK: Plan = {
  instead: null,
  insteadTimes: Number.POSITIVE_INFINITY,
  waitMs: 0,
  late: false,
  status: 'succeeded',
  declineCode: null,
  soft: false,
  settleMs: 0,
  changesMind: false,
  wrongAmount: false,
  delivery: 'plain',
  retryAfterMs: 1_000,
  dripMs: 2_000,
};

const decliningFirst = (settleMs: number): Plan => ({
  ...OK,
  status: 'declined',
  declineCode: 'do_not_honor',
  settleMs,
  changesMind: true,
});

const FIXED: Readonly<Record<string, Plan>> = {
  ok: OK,
  declined: { ...OK, status: 'declined', declineCode: 'do_not_honor' },
  insufficient_funds: {
    ...OK,
    status: 'declined',
    declineCode: 'insufficient_funds',
    soft: true,
  },
  requires_action: { ...OK, status: 'requires_action' },
  wrong_amount: { ...OK, wrongAmount: true },
  created: { ...OK, delivery: 'created' },
  extra_members: { ...OK, delivery: 'extra_members' },
  lowercase_currency: { ...OK, delivery: 'lowercase_currency' },
  execute_then_hang: { ...OK, delivery: 'hang' },
  execute_then_reset: { ...OK, delivery: 'reset' },
  execute_then_truncate: { ...OK, delivery: 'truncate' },
  execute_then_garbage: { ...OK, delivery: 'garbage' },
  execute_then_empty: { ...OK, delivery: 'empty' },
  execute_then_unknown_status: { ...OK, delivery: 'unknown_status' },
  execute_then_no_id: { ...OK, delivery: 'no_id' },
  execute_then_drip: { ...OK, delivery: 'drip' },
  execute_then_redirect: { ...OK, delivery: 'redirect' },
  headers_then_stall: { ...OK, delivery: 'stall' },
  hang_before: { ...OK, instead: 'hang' },
  reset_before: { ...OK, instead: 'reset' },
  redirect: { ...OK, instead: 'redirect' },
  rate_limited: { ...OK, instead: { status: 429 }, insteadTimes: 1 },
  slow: OK,
  pending: { ...OK, status: 'pending' },
  execute_late: { ...OK, late: true },
  decline_then_execute: decliningFirst(1_000),
};

const NUMBERED: Readonly<Record<string, (number: number) => Plan | undefined>> = {
  slow: (ms) => ({ ...OK, waitMs: ms }),
  pending: (ms) => ({ ...OK, status: 'pending', settleMs: ms }),
  execute_late: (ms) => ({ ...OK, late: true, waitMs: ms }),
  decline_then_execute: decliningFirst,
  rate_limited: (times) => ({ ...OK, instead: { status: 429 }, insteadTimes: times }),
  fail_before: (status) =>
    isStatus(status) ? { ...OK, instead: { status }, insteadTimes: 1 } : undefined,
  execute_then: (status) => (isStatus(status) ? { ...OK, delivery: { status } } : undefined),
  status: (status) => (isStatus(status) ? { ...OK, instead: { status } } : undefined),
};

/** A word such as `slow_250` or `execute_then_hang`; undefined if nothing is known by that name. */
export function planOf(behaviour: string): Plan | undefined {
  if (Object.hasOwn(FIXED, behaviour)) return FIXED[behaviour];
  const parts = /^([a-z_]+)_(\d{1,9})$/.exec(behaviour);
  const word = parts?.[1] ?? '';
  return Object.hasOwn(NUMBERED, word) ? NUMBERED[word]?.(Number(parts?.[2])) : undefined;
}

/** What a payment method token asks for; only `pm_` names are tokens. */
export function planOfSource(source: string): Plan | undefined {
  return source.startsWith('pm_') ? planOf(source.slice(3)) : undefined;
}

/**
 * What a scenario asks for. `delayMs` is the settling time of `pending`, the pause of `drip`, what
 * a 429 or 503 asks the caller to wait, and otherwise the time before the work.
 */
export function planOfScenario(behaviour: string, delayMs: number | undefined): Plan | undefined {
  const plan = planOf(behaviour.replace(/^pm_/, ''));
  if (plan === undefined || delayMs === undefined) return plan;
  if (plan.status === 'pending' || plan.changesMind) return { ...plan, settleMs: delayMs };
  if (plan.delivery === 'drip') return { ...plan, dripMs: delayMs };
  const wordless = plan.instead;
  if (wordless !== null && typeof wordless === 'object') {
    if (wordless.status === 429 || wordless.status === 503) {
      return { ...plan, retryAfterMs: delayMs };
    }
  }
  return { ...plan, waitMs: delayMs };
}

function isStatus(status: number): boolean {
  return status >= 300 && status <= 599;
}
