import { describe, expect, it } from 'vitest';
import { type Plan, plan } from '../../src/client/record.ts';
import { recordOf } from './store-contract.ts';

const HOUR_MS = 3_600_000;
const NOW = 100 * HOUR_MS;
const young = { createdAt: NOW - HOUR_MS, changedAt: NOW - HOUR_MS };
const old = { createdAt: NOW - 24 * HOUR_MS, changedAt: NOW - HOUR_MS };

/** What is written down; what to do for the same parameters, and for others. */
const table: readonly (readonly [what: string, record: object, same: Plan, other: Plan])[] = [
  ['minted, never sent', { phase: 'minted' }, 'send', 'mint'],
  ['minted, left no trace', { phase: 'minted', attempts: 1 }, 'send', 'send'],
  ['sent', { phase: 'sent', attempts: 1 }, 'send', 'block'],
  ['unknown', { phase: 'unknown', attempts: 5 }, 'send', 'block'],
  ['not sent to the PSP', { phase: 'notSent', attempts: 1 }, 'send', 'mint'],
  [
    'not sent, but a lost try may come late',
    { phase: 'notSent', attempts: 2, lateUntil: NOW + 1 },
    'send',
    'block',
  ],
  ['not sent, and too late', { phase: 'notSent', attempts: 2, lateUntil: NOW }, 'send', 'mint'],
  ['settled', { phase: 'settled', attempts: 1 }, 'send', 'refuse'],
  ['declined', { phase: 'declined', attempts: 1 }, 'mint', 'mint'],
  ['declined after the caller had asked', { phase: 'declined', changedAt: NOW }, 'send', 'mint'],
  ['old, never sent', { ...old, phase: 'minted' }, 'mint', 'mint'],
  ['old and unknown', { ...old, phase: 'unknown' }, 'lookUp', 'block'],
  ['old and settled', { ...old, phase: 'settled' }, 'lookUp', 'refuse'],
  ['old and not sent', { ...old, phase: 'notSent' }, 'lookUp', 'mint'],
];

describe('the rule of keys', () => {
  it.each(table)('%s', (_what, more, same, other) => {
    const record = recordOf({ ...young, ...more });
    const asked = { askedAt: NOW - 1 };
    expect(plan(record, { ...asked, paramsHash: 'hash' }, NOW, 23 * HOUR_MS)).toBe(same);
    expect(plan(record, { ...asked, paramsHash: 'new' }, NOW, 23 * HOUR_MS)).toBe(other);
  });

  it('nothing written down', () => {
    expect(plan(undefined, { askedAt: NOW, paramsHash: 'hash' }, NOW, 0)).toBe('mint');
  });
});
