import { z } from 'zod';

/** Kinds of variables: what each accepts is its description. */

const MOST_MS = 2_147_483_647;

/** Times, in ms. */
export const milliseconds = (fallback: number, least = 1, most = MOST_MS) =>
  z.coerce
    .number()
    .int()
    .min(least)
    .max(most)
    .default(fallback)
    .describe(`a whole number of milliseconds from ${least} to ${most}`);

export const count = (fallback: number) =>
  z.coerce.number().int().min(1).max(100_000).default(fallback);

/** Undefined if it is not set. */
export const url = (...schemes: readonly string[]) =>
  z
    .string()
    .refine((text) => URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1)))
    .optional()
    .describe(`a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`);

export const onOff = z
  .enum(['on', 'off', 'true', 'false', '1', '0'])
  .transform((text) => ['on', 'true', '1'].includes(text))
  .optional()
  .describe('on or off');

const MOST_S = 31_536_000;

/** Times, in seconds. */
export const seconds = (fallback: number, least: number) =>
  z.coerce
    .number()
    .int()
    .min(least)
    .max(MOST_S)
    .default(fallback)
    .describe(`a whole number of seconds from ${least} to ${MOST_S}`);
