import { LRUCache } from 'lru-cache';
import type { Database } from './connect.ts';
import { hashOf, type Scope } from './keys.ts';

/** Who an API key speaks for. */
export interface Identity {
  readonly merchantId: string;
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** A revoked key is refused within this time, in ms. */
const TRUST_MS = 1_000;
const KNOWN_KEYS = 10_000;
const LOOK_UP_BUDGET_MS = 2_000;
const LOOK_UP = `
select merchant_id, id, array_to_json(scopes) as scopes from api_keys
where key_hash = $1::bytea and revoked_at is null
  and (expires_at is null or expires_at > clock_timestamp())`;

/** Finds out whose key it is; what it knows it believes for a second. */
export class Identities {
  readonly #database: Database;
  readonly #known = new LRUCache<string, Promise<Identity | undefined>>({
    max: KNOWN_KEYS,
    ttl: TRUST_MS,
  });

  constructor(database: Database) {
    this.#database = database;
  }

  /** @throws JournalUnavailable if the database cannot be asked */
  identify(key: string): Promise<Identity | undefined> {
    const hash = hashOf(key);
    const id = hash.toString('base64url');
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const asked = this.#ask(hash);
    this.#known.set(id, asked);
    asked.catch(() => this.#known.delete(id));
    return asked;
  }

  async #ask(hash: Buffer): Promise<Identity | undefined> {
    const [row] = await this.#database.run(LOOK_UP, [hash], LOOK_UP_BUDGET_MS);
    if (row === undefined) return undefined;
    return {
      merchantId: row['merchant_id'] as string,
      keyId: row['id'] as string,
      scopes: new Set(row['scopes'] as Scope[]),
    };
  }
}
