import { describe, expect, it } from 'vitest';
import { decide, type Reply, type Verdict } from '../../src/client/index.ts';

const SETTLED: Verdict = { is: 'settled', value: 1, replayed: false };
const read = () => SETTLED;

function refused(status: number, code: string, more: object = {}): Reply {
  const extensions = { code, ...more };
  return { kind: 'answer', status, body: { data: null, errors: [{ message: code, extensions }] } };
}

function bare(status: number, retryAfterMs?: number): Reply {
  return { kind: 'answer', status, retryAfterMs, body: undefined };
}

const no = { retryable: false };
const table: readonly (readonly [what: string, reply: Reply, step: object])[] = [
  ['network error', { kind: 'lost', cause: 'reset' }, { do: 'retry', why: 'lost' }],
  ['nothing left us', { kind: 'lost', cause: 0, unsent: true }, { do: 'retry', why: 'refused' }],
  ['502 of a proxy', bare(502), { do: 'retry', why: 'lost' }],
  ['503 of a proxy, with a wait', bare(503, 2_000), { do: 'retry', why: 'lost', afterMs: 2_000 }],
  ['half an answer', bare(200), { do: 'retry', why: 'lost' }],
  ['408', bare(408), { do: 'retry', why: 'lost' }],
  ['409 of a proxy', bare(409), { do: 'retry', why: 'lost' }],
  ['429 of a proxy', bare(429, 2_000), { do: 'retry', why: 'refused', afterMs: 2_000 }],
  ['401 of a proxy', bare(401), { do: 'stop', left: 'nothing' }],
  ['404', bare(404), { do: 'stop', left: 'nothing' }],
  [
    'in progress',
    refused(409, 'IDEMPOTENCY_IN_PROGRESS', { retryable: true, retryAfterMs: 700 }),
    { do: 'retry', why: 'busy', afterMs: 700 },
  ],
  [
    'in progress, by a proxy that changed the status',
    refused(200, 'IDEMPOTENCY_IN_PROGRESS'),
    { do: 'retry', why: 'busy' },
  ],
  ['key reused', refused(422, 'IDEMPOTENCY_KEY_REUSED', no), { do: 'stop', left: 'taken' }],
  ['unknown', refused(409, 'IDEMPOTENCY_OUTCOME_UNKNOWN', no), { do: 'stop', left: 'doubt' }],
  ['key invalid', refused(400, 'IDEMPOTENCY_KEY_INVALID', no), { do: 'stop', left: 'nothing' }],
  ['unavailable', refused(503, 'IDEMPOTENCY_UNAVAILABLE'), { do: 'retry', why: 'refused' }],
  ['limited', refused(429, 'RATE_LIMITED'), { do: 'retry', why: 'refused' }],
  ['bad input', refused(400, 'BAD_USER_INPUT', no), { do: 'stop', left: 'nothing' }],
  ['bad input with 200', refused(200, 'BAD_USER_INPUT', no), { do: 'stop', left: 'nothing' }],
  ['signed out', refused(401, 'UNAUTHENTICATED', no), { do: 'stop', left: 'nothing' }],
  ['forbidden', refused(403, 'FORBIDDEN', no), { do: 'stop', left: 'nothing' }],
  ['server error', refused(500, 'INTERNAL_SERVER_ERROR'), { do: 'retry', why: 'lost' }],
  ['a code we do not know, with 200', refused(200, 'NEWER'), { do: 'retry', why: 'lost' }],
  ['a code we do not know, with 400', refused(400, 'NEWER'), { do: 'stop', left: 'nothing' }],
  [
    'data',
    { kind: 'answer', status: 200, body: { data: { pay: {} } } },
    { do: 'end', verdict: SETTLED },
  ],
  [
    'data with an error beside it',
    { kind: 'answer', status: 200, body: { data: { pay: {} }, errors: [{ message: 'x' }] } },
    { do: 'end' },
  ],
];

describe('the policy table', () => {
  it.each(table)('%s', (_what, reply, step) => {
    expect(decide(reply, read)).toMatchObject(step);
  });

  it('prefers the milliseconds of the body to the seconds of the header', () => {
    const reply = { ...refused(409, 'IDEMPOTENCY_IN_PROGRESS', { retryAfterMs: 250 }) };
    expect(decide({ ...reply, retryAfterMs: 1_000 } as Reply, read)).toMatchObject({
      afterMs: 250,
    });
  });

  it('takes what a newer server says for a refusal with its fields, not for a crash', () => {
    const newer = { code: 'BLOCKED_BY_MOON', message: 'Wait for the new moon.' };
    const reply: Reply = {
      kind: 'answer',
      status: 200,
      body: { data: { pay: { __typename: 'Newer', ...newer } } },
    };
    const step = { do: 'stop', left: 'taken', problem: newer };
    expect(decide(reply, () => undefined)).toMatchObject(step);
    const crash = () => {
      throw new Error('read');
    };
    expect(decide(reply, crash)).toMatchObject(step);
  });
});
