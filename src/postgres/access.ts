import { hash } from 'node:crypto';

export const SCOPES = ['payments:read', 'payments:write'] as const;
export type Scope = (typeof SCOPES)[number];

/** SHA-256: the key is 256 random bits, so a slow hash would guard nothing. */
export function hashOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
