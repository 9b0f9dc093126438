import { z } from 'zod';
import { isSealingKey, PRIVATE_MODES } from '../webhooks/index.ts';
import { milliseconds, seconds } from './variable.ts';

const MOST_MS = 600_000;

/** What the environment may say of webhooks to merchants. */
export const webhookVariables = {
  WEBHOOK_SECRET_KEY: z
    .string()
    .refine((list) => list.split(',').every((key) => isSealingKey(key.trim())))
    .optional()
    .describe('keys of 32 bytes in base64, separated by commas'),
  WEBHOOK_ALLOW_PRIVATE: z.enum(PRIVATE_MODES).optional().describe(PRIVATE_MODES.join(', ')),
  WEBHOOK_TIMEOUT_MS: milliseconds(10_000, 100, MOST_MS),
  WEBHOOK_RETRY_DELAYS_MS: z
    .string()
    .regex(/^\d{1,9}(,\d{1,9}){0,29}$/)
    .transform((list) => list.split(',').map(Number))
    .optional()
    .describe('1 to 30 whole numbers of milliseconds, separated by commas'),
  WEBHOOK_SECRET_OVERLAP_S: seconds(86_400, 0),
};
