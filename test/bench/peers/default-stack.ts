/**
 * GraphQL as one starts it: Apollo's standalone server, global fetch, and the journal's rows in drizzle
 * transactions, one for each request. The tables are the product's own, triggers and all.
 */
import { randomUUID } from 'node:crypto';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { and, eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { GraphQLError } from 'graphql';
import { Redis } from 'ioredis';
import { v7 } from 'uuid';
import { journalEntries, outboxEvents, payments, postings } from '../../../src/postgres/tables.ts';
import {
  ANSWER_S,
  chargeBody,
  chargeId,
  LOCK_MS,
  type Payment,
  pspKeyOf,
  REDIS_URL,
  sayReady,
  sql,
} from './kit.ts';

const MERCHANT = '00000000-0000-7000-8000-000000000001';
const WORKING = 'working';
const redis = new Redis(REDIS_URL);
const database = drizzle(sql);

interface Ids {
  readonly paymentId: string;
  readonly entryId: string;
}

function open(key: string, { amountMinor, currency, paymentMethod }: Payment): Promise<Ids> {
  const ids: Ids = { paymentId: v7(), entryId: v7() };
  const id = ids.paymentId;
  const common = { merchantId: MERCHANT, amountMinor, currency };
  return database.transaction(async (transaction) => {
    await transaction
      .insert(payments)
      .values({ ...common, id, status: 'PROCESSING', paymentMethod });
    await transaction.insert(journalEntries).values({
      ...common,
      id: ids.entryId,
      paymentId: id,
      idempotencyKey: key,
      operation: 'CHARGE',
      amount: (amountMinor / 100).toFixed(4),
      exponent: 2,
      fingerprintVersion: 1,
      fingerprint: Buffer.alloc(32),
      state: 'SENDING',
      ownerToken: randomUUID(),
      leaseUntil: new Date(Date.now() + LOCK_MS),
      psp: 'simulator',
      pspIdempotencyKey: randomUUID(),
      nextCheckAt: new Date(Date.now() + LOCK_MS),
      sentAt: new Date(),
    });
    return ids;
  });
}

function settle(ids: Ids, { amountMinor, currency }: Payment, pspReference: string): Promise<void> {
  const { paymentId, entryId } = ids;
  const ofMerchant = { merchantId: MERCHANT, entryId };
  const leg = { ...ofMerchant, amountMinor, currency };
  return database.transaction(async (transaction) => {
    await transaction
      .update(journalEntries)
      .set({ state: 'SUCCEEDED', outcomeSource: 'SYNC', pspReference, settledAt: new Date() })
      .where(and(eq(journalEntries.merchantId, MERCHANT), eq(journalEntries.id, entryId)));
    await transaction
      .update(payments)
      .set({
        status: 'CAPTURED',
        authorizedMinor: amountMinor,
        capturedMinor: amountMinor,
        pspReference,
        version: 2,
        updatedAt: new Date(),
      })
      .where(and(eq(payments.merchantId, MERCHANT), eq(payments.id, paymentId)));
    await transaction.insert(postings).values([
      { ...leg, leg: 1, account: 'psp_clearing', direction: 'DEBIT' },
      { ...leg, leg: 2, account: 'merchant_payable', direction: 'CREDIT' },
    ]);
    await transaction
      .insert(outboxEvents)
      .values({ ...ofMerchant, id: v7(), paymentId, type: 'charge.succeeded', paymentVersion: 2 });
  });
}

async function pay(key: string, payment: Payment) {
  const ids = await open(key, payment);
  const response = await fetch(`${process.env['SIMULATOR_URL']}/v1/charges`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': pspKeyOf(key) },
    body: chargeBody(key, payment),
  });
  await settle(ids, payment, chargeId(response.status, await response.text()));
  const { amountMinor, currency } = payment;
  return { id: ids.paymentId, status: 'CAPTURED', amountMinor, currency };
}

const typeDefs = `
  input PaymentInput { amountMinor: Int! currency: String! paymentMethod: String! }
  type Payment { id: ID! status: String! amountMinor: Int! currency: String! }
  type Query { payment: Payment }
  type Mutation { pay(idempotencyKey: ID!, input: PaymentInput!): Payment! }`;

const resolvers = {
  Mutation: {
    pay: async (_source: unknown, asked: { idempotencyKey: string; input: Payment }) => {
      const name = `idempotency:${asked.idempotencyKey}`;
      if ((await redis.set(name, WORKING, 'PX', LOCK_MS, 'NX')) === null) {
        const kept = await redis.get(name);
        if (kept !== null && kept !== WORKING) return JSON.parse(kept) as object;
        throw new GraphQLError('in progress', { extensions: { http: { status: 409 } } });
      }
      try {
        const payment = await pay(asked.idempotencyKey, asked.input);
        await redis.set(name, JSON.stringify(payment), 'EX', ANSWER_S);
        return payment;
      } catch (error) {
        await redis.del(name);
        throw error;
      }
    },
  },
};

const server = new ApolloServer({ typeDefs, resolvers });
const { url } = await startStandaloneServer(server, { listen: { port: 0, host: '127.0.0.1' } });
sayReady(Number(new URL(url).port));
