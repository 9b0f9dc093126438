import { z } from 'zod';
import { isSigningSecret, LOOKUPS, PSP_NAMES } from '../psp/index.ts';
import { milliseconds, url } from './variable.ts';

const DAY_MS = 86_400_000;

/** What the environment may say of payment service providers. */
export const pspVariables = {
  PSP: z.enum(PSP_NAMES).default('simulator').describe(PSP_NAMES.join(', ')),
  SIMULATOR_URL: url('http', 'https'),
  SIMULATOR_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .refine((list) => list.split(',').every((secret) => isSigningSecret(secret.trim())))
    .optional()
    .describe('signing secrets in base64, with or without the prefix whsec_, separated by commas'),
  SIMULATOR_KEY_WINDOW_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(DAY_MS)
    .default(DAY_MS)
    .describe(`how long the simulator remembers keys, from 0 to ${DAY_MS} milliseconds`),
  SIMULATOR_SETTLING_MS: milliseconds(5_000),
  SIMULATOR_LOOKUP: z.enum(LOOKUPS).default('lagging').describe(LOOKUPS.join(', ')),
  STRIPE_SECRET_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{8,300}$/)
    .optional()
    .describe('a secret or restricted key of a Stripe account'),
  STRIPE_API_BASE: url('http', 'https'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('signing secrets of webhook endpoints, separated by commas'),
  STRIPE_RETURN_URL: url('http', 'https'),
};
