import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { webhookSettings } from './webhooks.ts';

export const DAY_MS = 86_400_000;

/** `POST /admin/settings`: what is left out stays as it is; `webhook: null` stops webhooks. */
export const settingsBody = z.object({
  lookupLagMs: z.int().min(0).optional(),
  keyWindowMs: z.int().min(0).optional(),
  /** How long authorisations from now on hold, in ms. */
  authorizationWindowMs: z.int().min(0).optional(),
  seed: z.int().optional(),
  webhook: webhookSettings.nullable().optional(),
});
export type SettingsBody = z.infer<typeof settingsBody>;

export interface Settings {
  /** How long an operation stays hidden from look-ups, in ms. */
  lookupLagMs: number;
  /** How long a key answers its first result, in ms. */
  keyWindowMs: number;
  /** How long an authorisation holds, in ms. */
  authorizationWindowMs: number;
  /** Makes ids and the order of shuffled webhooks repeatable; null: ids no other run uses. */
  seed: number | null;
}

/** The part of an id that tells this run from others. */
export function runName(seed: number | null): string {
  return seed === null ? randomBytes(5).toString('hex') : `s${Math.abs(seed).toString(36)}`;
}
