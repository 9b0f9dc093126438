export { unsafeSettings, whyNotReady } from './checks.ts';
export { Database } from './connect.ts';
export { PostgresFollowUps } from './follow-ups.ts';
export { Identities } from './identities.ts';
export { type JournalOptions, PostgresJournal } from './journal.ts';
export { type KeyInfo, Keys, SCOPES, type Scope } from './keys.ts';
export { migrate, migrationsIn } from './migrate.ts';
export { openWork } from './open-work.ts';
export { PostgresPaymentReader } from './payment-reader.ts';
