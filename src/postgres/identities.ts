import { LRUCache } from 'lru-cache';
import { JournalUnavailable } from '../payments/index.ts';
import { hashOf, type Scope } from './access.ts';
import { Batch } from './batch.ts';
import type { Database } from './connect.ts';
import { orUnavailable } from './not-run.ts';

/** Who an API key speaks for. */
export interface Identity {
  readonly merchantId: string;
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** A revoked key is refused within this time, in ms. */
const TRUST_MS = 1_000;
const KNOWN_KEYS = 10_000;
const LOOK_UP_BUDGET_MS = 3_000;
const LOOK_UP = `
select encode(k.key_hash, 'hex') as hash, k.merchant_id, k.id, array_to_json(k.scopes) as scopes
from json_array_elements_text($1::text::json) as asked(hash)
join api_keys k on k.key_hash = decode(asked.hash, 'hex')
where k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())`;

/**
 * Finds out whose key it is; what it knows it believes for a second. Unknown keys cost one statement
 * for many, so that a flood of them cannot keep payments from the database.
 */
export class Identities {
  readonly #database: Database;
  readonly #known = new LRUCache<string, Promise<Identity | undefined>>({
    max: KNOWN_KEYS,
    ttl: TRUST_MS,
  });
  readonly #asked = new Batch<string, Identity | undefined>({
    run: (hashes, budgetMs) => this.#lookUp(hashes, budgetMs),
    budgetMs: LOOK_UP_BUDGET_MS,
    maxItems: 1_000,
    maxWaiting: 20_000,
    slots: 1,
    concernsAll: (error) => error instanceof JournalUnavailable,
  });

  constructor(database: Database) {
    this.#database = database;
  }

  /** @throws JournalUnavailable if the database cannot be asked */
  identify(key: string): Promise<Identity | undefined> {
    const hash = hashOf(key).toString('hex');
    const known = this.#known.get(hash);
    if (known !== undefined) return known;
    const asked = orUnavailable(this.#asked.add(hash));
    this.#known.set(hash, asked);
    asked.catch(() => this.#known.delete(hash));
    return asked;
  }

  async #lookUp(hashes: readonly string[], budgetMs: number): Promise<(Identity | undefined)[]> {
    const rows = await this.#database.run(LOOK_UP, [JSON.stringify(hashes)], budgetMs);
    const found = new Map(
      rows.map((row) => [
        row['hash'],
        {
          merchantId: row['merchant_id'] as string,
          keyId: row['id'] as string,
          scopes: new Set(row['scopes'] as Scope[]),
        },
      ]),
    );
    return hashes.map((hash) => found.get(hash));
  }
}
