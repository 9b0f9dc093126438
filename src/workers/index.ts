export { type Deliveries, startDeliveries } from './deliver-webhooks.ts';
export { Feed, type FeedOptions } from './feed.ts';
export type { Loop } from './loop.ts';
export { startNumbering } from './number-events.ts';
export { recoveryRun, startRecovery } from './recover.ts';
export { startSweep } from './sweep.ts';
