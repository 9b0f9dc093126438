import { randomBytes } from 'node:crypto';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { validate as isUuid } from 'uuid';
import { hashOf, type Scope } from './access.ts';
import { CALM } from './calm.ts';
import { uuidV7 } from './ids.ts';
import { apiKeys, merchants } from './tables.ts';

export interface NewKey {
  readonly merchant: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
  /** A key of the caller's choice (the demo's); otherwise a random one is made. */
  readonly key?: string;
}

export interface KeyInfo {
  readonly id: string;
  readonly merchant: string;
  readonly name: string;
  readonly prefix: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
}

const PREFIX_LENGTH = 10;
/** Any constant will do, as long as everyone who makes keys takes the same lock. */
const KEYS_LOCK = 7_301_136;

/** The administration of merchants and their API keys. Not on the payment path. */
export class Keys {
  readonly #client: postgres.Sql;
  readonly #db: PostgresJsDatabase;

  constructor(url: string) {
    this.#client = postgres(url, CALM);
    this.#db = drizzle(this.#client);
  }

  /** Makes a key for the merchant of this name, and the merchant if there is none. @returns it once */
  async create(wanted: NewKey): Promise<{ id: string; merchantId: string; key: string }> {
    const key = wanted.key ?? `sk_${randomBytes(32).toString('base64url')}`;
    const keyHash = hashOf(key);
    return this.#db.transaction(async (tx) => {
      // Two starters must not make two merchants of one name, nor one key twice.
      await tx.execute(sql`select pg_advisory_xact_lock(${KEYS_LOCK})`);
      const merchantId = await merchantNamed(tx, wanted.merchant);
      const [same] = await tx
        .select({ id: apiKeys.id, merchantId: apiKeys.merchantId })
        .from(apiKeys)
        .where(and(eq(apiKeys.keyHash, keyHash), isNull(apiKeys.revokedAt)));
      if (same !== undefined) return { ...same, key };
      const id = uuidV7();
      const { name, expiresAt } = wanted;
      const prefix = key.slice(0, Math.min(PREFIX_LENGTH, Math.floor(key.length / 2)));
      const scopes = [...wanted.scopes];
      await tx.insert(apiKeys).values({ merchantId, id, keyHash, prefix, name, scopes, expiresAt });
      return { id, merchantId, key };
    });
  }

  async list(): Promise<readonly KeyInfo[]> {
    return this.#db
      .select({
        id: apiKeys.id,
        merchant: merchants.name,
        name: apiKeys.name,
        prefix: apiKeys.prefix,
        scopes: apiKeys.scopes,
        expiresAt: apiKeys.expiresAt,
        revokedAt: apiKeys.revokedAt,
        createdAt: apiKeys.createdAt,
      })
      .from(apiKeys)
      .innerJoin(merchants, eq(merchants.id, apiKeys.merchantId))
      .orderBy(apiKeys.createdAt);
  }

  /** @returns false if there is no such key, or it was revoked before */
  async revoke(id: string): Promise<boolean> {
    if (!isUuid(id)) return false;
    const revoked = await this.#db
      .update(apiKeys)
      .set({ revokedAt: sql`clock_timestamp()` })
      .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
      .returning({ id: apiKeys.id });
    return revoked.length > 0;
  }

  async close(): Promise<void> {
    await this.#client.end({ timeout: 2 });
  }
}

type Transaction = Parameters<Parameters<PostgresJsDatabase['transaction']>[0]>[0];

async function merchantNamed(tx: Transaction, name: string): Promise<string> {
  const [found] = await tx
    .select({ id: merchants.id })
    .from(merchants)
    .where(eq(merchants.name, name));
  if (found !== undefined) return found.id;
  const id = uuidV7();
  await tx.insert(merchants).values({ id, name });
  return id;
}
