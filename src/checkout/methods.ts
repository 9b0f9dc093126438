/** A payment method of the PSP simulator: its token says how the simulator behaves. */
export interface Method {
  readonly token: string;
  readonly label: string;
  /** What is going to happen. */
  readonly hint: string;
}

/** Grouped as in the menu; the first is chosen at the start. */
export const METHODS: readonly [Method, ...Method[]] = [
  { token: 'pm_ok', label: 'Charges and says so', hint: 'As every bank should.' },
  {
    token: 'pm_slow_3000',
    label: 'Takes three seconds',
    hint: 'Time to press again, to reload, or to pay in a second tab.',
  },
  {
    token: 'pm_rate_limited_2',
    label: 'Turns the first two tries away',
    hint: 'Too many requests; the client waits as long as it is told to.',
  },
  { token: 'pm_declined', label: 'Declines', hint: 'Final: the next press is a new attempt.' },
  {
    token: 'pm_insufficient_funds',
    label: 'Declines for want of money',
    hint: 'The same card may work later.',
  },
  {
    token: 'pm_execute_then_hang',
    label: 'Charges and never answers',
    hint: 'The worst case: wait, and see it settle by itself.',
  },
  {
    token: 'pm_execute_then_reset',
    label: 'Charges and hangs up',
    hint: 'The connection breaks after the money has moved.',
  },
  {
    token: 'pm_execute_then_500',
    label: 'Charges and says "error 500"',
    hint: 'An error is no proof that nothing happened.',
  },
  {
    token: 'pm_wrong_amount',
    label: 'Charges another amount',
    hint: 'Nobody guesses: a person has to decide.',
  },
];

const TOKEN = /^pm_[a-z0-9_]{1,60}$/;

export function isMethod(token: unknown): token is string {
  return typeof token === 'string' && TOKEN.test(token);
}

/** The simulator knows more tokens than the menu has. */
export function methodOf(token: string): Method {
  return (
    METHODS.find((method) => method.token === token) ?? {
      token,
      label: token,
      hint: 'A token of your own.',
    }
  );
}
