import type { FaultProxy } from '../../support/proxy.ts';

/** Short times in the order that the configuration demands, in ms. */
export const TIMES = {
  PSP_TIMEOUT_MS: '1000',
  PSP_ASK_AGAIN_MS: '3000',
  CLOCK_DRIFT_MS: '500',
  LOCK_GRACE_MS: '1500',
  RECOVER_AFTER_MS: '3200',
  JOIN_WAIT_MS: '800',
  DRAIN_MS: '2500',
} as const;
/** Longer than the lock lives, and than an entry waits to be taken over. */
export const LONGER_THAN_LOCK_MS = 3_400;

/** One server's ways to the others, and its clients' way to it. */
export interface Ways {
  readonly clients: FaultProxy;
  readonly postgres: FaultProxy;
  readonly psp: FaultProxy;
  /** Only with one Redis: sentinels and clusters name the addresses of their nodes themselves. */
  readonly redis: FaultProxy | undefined;
}

export interface Merchant {
  readonly id: string;
  readonly apiKey: string;
}
