/**
 * The flow that most articles on idempotency describe: `SET NX` takes the key, the work is done, the
 * answer is kept under the key, and an error frees it.
 */
import { Redis } from 'ioredis';
import { ANSWER_S, IN_PROGRESS, LOCK_MS, pay, REDIS_URL, type Reply, serve } from './kit.ts';

const redis = new Redis(REDIS_URL, { enableAutoPipelining: true });
const WORKING = 'working';

serve(async (key, payment): Promise<Reply> => {
  const name = `idempotency:${key}`;
  const taken = await redis.set(name, WORKING, 'PX', LOCK_MS, 'NX');
  if (taken === null) {
    const kept = await redis.get(name);
    return kept === null || kept === WORKING ? IN_PROGRESS : { status: 200, text: kept };
  }
  try {
    const text = await pay(key, payment);
    await redis.set(name, text, 'EX', ANSWER_S);
    return { status: 200, text };
  } catch (error) {
    await redis.del(name);
    throw error;
  }
});
