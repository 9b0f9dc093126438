import { z } from 'zod';

/** A time that can be waited for, in ms. */
export const milliseconds = z.int().positive().max(2_147_483_647);

/** The longest pause before a PSP that has not said how an operation stands is asked again, in ms. */
export const askAgainMs = milliseconds.default(60_000);
