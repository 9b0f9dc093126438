import type { Word } from './converse.ts';
import type { Outcome, Problem, Refusal } from './outcome.ts';
import type { IntentRecord } from './record.ts';
import { sleep } from './retry.ts';

/** Asks once more, with the same key. */
export type Again<Ok, P extends Problem> = (signal?: AbortSignal) => Promise<Outcome<Ok, P>>;

/** What a conversation came to: the phase to write down, and what is told to the caller. Pure. */
export function conclude<Ok, P extends Problem>(
  record: IntentRecord,
  { step, standing }: Word<Ok, P>,
  aborted: { readonly reason: unknown } | false,
  again: Again<Ok, P>,
): readonly [IntentRecord['phase'], Outcome<Ok, P>] {
  const { key } = record;
  if (step.do === 'end') {
    const { is, ...told } = step.verdict;
    switch (step.verdict.is) {
      case 'settled':
      case 'declined':
        return [step.verdict.is, { ...told, kind: is, key } as Outcome<Ok, P>];
      case 'absent':
        return ['minted', rejected<Ok, P>(key, 'NOT_RECEIVED', 'Nothing was done; submit again.')];
      case 'processing':
        return ['unknown', processing(key, again, step.verdict)];
    }
  }
  const { problem } = step;
  const asked = step.do === 'retry';
  const busy = asked && step.why === 'busy';
  const taken = !asked && step.left === 'taken';
  const doubt = standing === 'lost' || busy || (!asked && step.left !== 'nothing');
  const phase = doubt ? 'unknown' : standing === 'none' ? 'minted' : 'notSent';
  if (asked && aborted) return [phase, unknown(record, aborted.reason, again)];
  if (busy) return [phase, processing(key, again, { pollAfterMs: step.afterMs, problem })];
  if (doubt && !taken) return [phase, unknown(record, asked ? step.cause : problem, again)];
  return [phase, { kind: 'rejected', problem, key }];
}

export function rejected<Ok, P extends Problem>(
  key: string,
  code: string,
  message: string,
): Outcome<Ok, P> {
  return { kind: 'rejected', problem: { code, message }, key };
}

export function unknown<Ok, P extends Problem>(
  { key, createdAt, attempts }: Pick<IntentRecord, 'key' | 'createdAt' | 'attempts'>,
  cause: unknown,
  resume: Again<Ok, P>,
): Outcome<Ok, P> {
  return { kind: 'unknown', key, since: new Date(createdAt), attempts, cause, resume };
}

interface Progress<P> {
  readonly pollAfterMs?: number | undefined;
  readonly problem?: P | Refusal | undefined;
}

/** The first wait before asking again, and the longest, in ms. */
const POLL_MS = { first: 1_000, most: 30_000 } as const;

function processing<Ok, P extends Problem>(
  key: string,
  again: Again<Ok, P>,
  { pollAfterMs = POLL_MS.first, problem }: Progress<P>,
): Outcome<Ok, P> {
  const follow: Again<Ok, P> = async (signal) => {
    for (let pauseMs = pollAfterMs; ; pauseMs = Math.min(pauseMs * 2, POLL_MS.most)) {
      await sleep(pauseMs, signal);
      const outcome = await again(signal);
      if (outcome.kind !== 'processing') return outcome;
    }
  };
  return { kind: 'processing', key, follow, problem };
}
