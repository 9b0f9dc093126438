/** `@node-idempotency/core` with its Redis adapter; errors are kept, as its own plugins do. */
import { Idempotency, IdempotencyError, IdempotencyErrorCodes } from '@node-idempotency/core';
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis';
import { ANSWER_S, IN_PROGRESS, type Payment, pay, REDIS_URL, type Reply, serve } from './kit.ts';

const storage = new RedisStorageAdapter({ url: REDIS_URL });
await storage.connect();
const idempotency = new Idempotency(storage, { cacheTTLMS: ANSWER_S * 1_000 });

const requestFor = (key: string, payment: Payment) => ({
  headers: { 'idempotency-key': key },
  path: '/pay',
  method: 'POST',
  body: { ...payment },
});

serve(async (key, payment): Promise<Reply> => {
  const request = requestFor(key, payment);
  try {
    const kept = await idempotency.onRequest<string, string>(request);
    if (kept?.body !== undefined) return { status: 200, text: kept.body };
    if (kept !== undefined) return { status: 500, text: JSON.stringify({ error: kept.error }) };
  } catch (error) {
    const isBusy =
      error instanceof IdempotencyError && error.code === IdempotencyErrorCodes.REQUEST_IN_PROGRESS;
    if (isBusy) return IN_PROGRESS;
    throw error;
  }
  try {
    const text = await pay(key, payment);
    await idempotency.onResponse(request, { body: text });
    return { status: 200, text };
  } catch (error) {
    await idempotency.onResponse(request, { error: String(error) });
    throw error;
  }
});
