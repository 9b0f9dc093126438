/**
 * What is written down about an intent before its first byte leaves. It holds no parameters: only a
 * digest of them, so that nobody's data lie around in browsers.
 */
export interface IntentRecord {
  /** The operation's name in its document. */
  readonly operation: string;
  readonly key: string;
  readonly paramsHash: string;
  /**
   * - `minted`: the server has no trace of the key, as far as its answers tell
   * - `sent`: a request is on its way, or was when the page went away
   * - `unknown`: it was sent, and nothing final was heard
   * - `notSent`: nothing was done so far, but the server has bound the key to these parameters
   * - `settled`, `declined`: done; nothing can change that
   */
  readonly phase: 'minted' | 'sent' | 'unknown' | 'notSent' | 'settled' | 'declined';
  /** Epoch ms, as are the other times. */
  readonly createdAt: number;
  readonly changedAt: number;
  /** How often the request was sent. */
  readonly attempts: number;
  /** Until when a try that was lost may still reach the server. */
  readonly lateUntil?: number | undefined;
}

/** True if an outcome was heard that can never change. */
export function isFinal({ phase }: IntentRecord): boolean {
  return phase === 'settled' || phase === 'declined';
}

export interface Asked {
  readonly paramsHash: string;
  /** When the caller asked, epoch ms. */
  readonly askedAt: number;
}

/**
 * What to do about an intent, given what is written down.
 *
 * - `mint`: take a fresh key
 * - `send`: send with the key that is written down
 * - `lookUp`: the same, but only after asking what became of it: it is old
 * - `block`: other parameters, and the first ones may have been carried out
 * - `refuse`: other parameters, and the first ones were carried out: the scope is spent
 */
export type Plan = 'mint' | 'send' | 'lookUp' | 'block' | 'refuse';

/**
 * The whole rule of keys. Pure: the record, who asks, the time.
 *
 * A new key is taken only if the old one was never sent, was declined, or is known to have had no
 * effect. A key that left no trace is kept even for changed parameters: should a lost try of it
 * still arrive, the server lets only one of the two happen.
 */
export function plan(
  record: IntentRecord | undefined,
  asked: Asked,
  now: number,
  maxAgeMs: number,
): Plan {
  if (record === undefined) return 'mint';
  const same = record.paramsHash === asked.paramsHash;
  const send = now - record.createdAt > maxAgeMs ? 'lookUp' : 'send';
  switch (record.phase) {
    case 'minted':
      return record.attempts === 0 && (!same || send === 'lookUp') ? 'mint' : send;
    case 'settled':
      return same ? send : 'refuse';
    case 'declined':
      return same && record.changedAt > asked.askedAt ? send : 'mint';
    case 'notSent':
      if (same) return send;
      return (record.lateUntil ?? 0) > now ? 'block' : 'mint';
    case 'sent':
    case 'unknown':
      return same ? send : 'block';
  }
}
