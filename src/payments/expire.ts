import { soughtBy } from './orders.ts';
import type { Psp, Recorded } from './ports.ts';

/** Authorised payments whose time is up. Throws `JournalUnavailable`. */
export interface Expiries {
  /**
   * At most `limit` payments of one PSP that are AUTHORIZED past `authorizedUntil`, nothing of them
   * captured or on its way, each with its first entry.
   */
  due(limit: number, psp: string): Promise<readonly Recorded[]>;
  /** EXPIRED, with its event. @returns false if the payment has moved on */
  expire(recorded: Recorded): Promise<boolean>;
  /** Asks again at this time. */
  postpone(recorded: Recorded, until: Date): Promise<void>;
}

export interface ExpireDeps {
  readonly expiries: Expiries;
  readonly psp: Psp;
  /** The time of day, for asking again later. */
  readonly clock?: () => Date;
}

export interface ExpiryReport {
  readonly asked: number;
  readonly expired: number;
}

/** When a PSP is asked again that did not confirm that the time is up, in ms. */
const ASK_AGAIN_MS = 60_000;

/**
 * Asks the PSP about at most `limit` authorisations whose time is up: only what the PSP says has
 * expired has expired. Any number of processes may do so at once.
 */
export async function expireOnce(deps: ExpireDeps, limit: number): Promise<ExpiryReport> {
  const due = await deps.expiries.due(limit, deps.psp.name);
  const expired = await Promise.all(due.map((recorded) => expireOne(deps, recorded)));
  return { asked: due.length, expired: expired.filter(Boolean).length };
}

async function expireOne(
  { expiries, psp, clock = () => new Date() }: ExpireDeps,
  recorded: Recorded,
): Promise<boolean> {
  const found = await psp.find(recorded.entry.id, soughtBy(recorded));
  const outcome = found.kind === 'found' ? found.outcome : undefined;
  if (outcome?.kind !== 'succeeded' || outcome.expired !== true) {
    await expiries.postpone(recorded, new Date(clock().getTime() + ASK_AGAIN_MS));
    return false;
  }
  return expiries.expire(recorded);
}
