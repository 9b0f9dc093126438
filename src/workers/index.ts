export type { Loop } from './loop.ts';
export { startRecovery } from './recover.ts';
export { startSweep } from './sweep.ts';
