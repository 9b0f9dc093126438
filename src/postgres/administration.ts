/*
 * The second door of this room: what a server needs once or never. It brings drizzle and the migrations
 * of graphile-worker along, and they took a tenth of a start; so it is imported when it is asked for.
 */
export { type KeyInfo, Keys } from './keys.ts';
export { migrate } from './migrate.ts';
