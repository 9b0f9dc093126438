import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { EndpointKey, SealedSecret } from './endpoint.ts';

const CIPHER = 'aes-256-gcm';
const BYTES = { key: 32, name: 4, nonce: 12, tag: 16, secret: 32 } as const;

/** True of 32 bytes in base64. */
export function isSealingKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text);
}

/** None of the keys is the one that a secret was sealed with, or the bytes are another row's. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

/**
 * Keeps signing secrets unreadable in the database, its backups and its dumps: AES-256-GCM with a key
 * of the configuration, bound to the row that holds the bytes.
 */
export class Sealer {
  readonly #keys: readonly { readonly name: Buffer; readonly key: Buffer }[];

  /** @param keys in base64: the first one seals, all of them open */
  constructor(keys: readonly string[]) {
    this.#keys = keys.map((text) => {
      const key = Buffer.from(text, 'base64');
      return { key, name: createHash('sha256').update(key).digest().subarray(0, BYTES.name) };
    });
  }

  /** A new secret, as its owner gets it once. */
  static newSecret(): string {
    return `whsec_${randomBytes(BYTES.secret).toString('base64')}`;
  }

  seal(endpoint: EndpointKey, id: string, secret: string): SealedSecret {
    const [first] = this.#keys;
    if (first === undefined) throw new TypeError('There is no key to seal with.');
    const nonce = randomBytes(BYTES.nonce);
    const cipher = createCipheriv(CIPHER, first.key, nonce);
    cipher.setAAD(placeOf(endpoint, id));
    const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return { id, sealed: Buffer.concat([first.name, nonce, cipher.getAuthTag(), body]) };
  }

  /** @throws CannotOpen */
  open(endpoint: EndpointKey, { id, sealed }: SealedSecret): string {
    const name = sealed.subarray(0, BYTES.name);
    const nonceAt = BYTES.name;
    const tagAt = nonceAt + BYTES.nonce;
    const bodyAt = tagAt + BYTES.tag;
    const key = this.#keys.find((one) => one.name.equals(name))?.key;
    if (key === undefined) throw new CannotOpen('No key of this server opens a signing secret.');
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(nonceAt, tagAt));
    decipher.setAAD(placeOf(endpoint, id));
    decipher.setAuthTag(sealed.subarray(tagAt, bodyAt));
    try {
      const body = Buffer.concat([decipher.update(sealed.subarray(bodyAt)), decipher.final()]);
      return body.toString('utf8');
    } catch {
      throw new CannotOpen('A signing secret is not what was sealed in its place.');
    }
  }
}

const placeOf = ({ merchantId, id }: EndpointKey, secretId: string) =>
  Buffer.from(`${merchantId} ${id} ${secretId}`);
