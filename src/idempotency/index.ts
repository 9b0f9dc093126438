export type { Call, Ending, How, Result } from './call.ts';
export type { Clock } from './clock.ts';
export { decide, type Entry } from './decide.ts';
export { FINGERPRINT_VERSION, fingerprint, readFingerprint } from './fingerprint.ts';
export { MemoryStore } from './memory-store.ts';
export { NotExecuted, Once, type OnceOptions } from './once.ts';
export { type Ask, type Intent, intentId, type Lease, type Store, type Verdict } from './store.ts';
