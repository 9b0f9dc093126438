/** `express-idempotency` on express. It ships no Redis adapter: this one does what its port asks for. */
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import {
  getSharedIdempotencyService,
  type IdempotencyResource,
  type IIdempotencyDataAdapter,
  idempotency,
} from 'express-idempotency';
import { Redis } from 'ioredis';
import { ANSWER_S, type Payment, pay, REDIS_URL, sayReady } from './kit.ts';

const redis = new Redis(REDIS_URL, { enableAutoPipelining: true });
const nameOf = (key: string) => `idempotency:${key}`;
const put = async (resource: IdempotencyResource) => {
  const text = JSON.stringify(resource);
  await redis.set(nameOf(resource.idempotencyKey), text, 'EX', ANSWER_S);
};
const dataAdapter: IIdempotencyDataAdapter = {
  findByIdempotencyKey: async (key) => {
    const text = await redis.get(nameOf(key));
    return text === null ? null : (JSON.parse(text) as IdempotencyResource);
  },
  create: put,
  update: put,
  delete: async (key) => {
    await redis.del(nameOf(key));
  },
};

const app = express();
app.use(express.json());
app.use(idempotency({ dataAdapter }));
app.post('/pay', async (request, response) => {
  const service = getSharedIdempotencyService();
  if (service.isHit(request)) return;
  try {
    const text = await pay(request.get('idempotency-key') ?? '', request.body as Payment);
    response.type('json').send(text);
  } catch (error) {
    await service.reportError(request);
    throw error;
  }
});
app.use((_error: unknown, _request: Request, response: Response, _next: NextFunction) => {
  const status = response.statusCode >= 400 ? response.statusCode : 500;
  response.status(status).json({ error: 'failed' });
});

const server = app.listen(0, '127.0.0.1', () => sayReady((server.address() as AddressInfo).port));
