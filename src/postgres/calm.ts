/**
 * For the few statements outside of the pool. The types of arrays are not asked for: postgres.js does
 * that where nobody waits for it, and if the database goes away just then, the process would end.
 */
export const CALM = { max: 1, fetch_types: false, onnotice: () => {} };
