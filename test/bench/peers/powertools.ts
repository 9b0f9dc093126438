/** `@aws-lambda-powertools/idempotency` with its cache persistence, as its documentation shows it. */
import {
  IdempotencyAlreadyInProgressError,
  IdempotencyConfig,
  makeIdempotent,
} from '@aws-lambda-powertools/idempotency';
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache';
import { createClient } from '@redis/client';
import {
  ANSWER_S,
  IN_PROGRESS,
  LOCK_MS,
  type Payment,
  pay,
  REDIS_URL,
  type Reply,
  serve,
} from './kit.ts';

const client = await createClient({ url: REDIS_URL }).connect();
const config = new IdempotencyConfig({ eventKeyJmesPath: 'key', expiresAfterSeconds: ANSWER_S });
// Outside Lambda nothing tells it how long a request may take; without it its lock never ends.
config.registerLambdaContext({ getRemainingTimeInMillis: () => LOCK_MS } as never);
const once = makeIdempotent(
  ({ key, payment }: { key: string; payment: Payment }) => pay(key, payment),
  { persistenceStore: new CachePersistenceLayer({ client }), config },
);

serve(async (key, payment): Promise<Reply> => {
  try {
    return { status: 200, text: await once({ key, payment }) };
  } catch (error) {
    if (error instanceof IdempotencyAlreadyInProgressError) return IN_PROGRESS;
    throw error;
  }
});
