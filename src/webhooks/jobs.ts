/** Of our own, so that nobody else's jobs of the same library are ever touched (drizzle/0011 names it). */
export const JOBS_SCHEMA = 'semel_jobs';
