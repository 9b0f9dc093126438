import type { Held } from './faults.ts';
import { through } from './server-faults.ts';
import type { World } from './world.ts';

const EXECUTED = ['hang', 'reset', 'truncate', 'garbage', 'empty', '500', '503'] as const;
const NOT_EXECUTED = [
  'fail_before_500',
  'fail_before_503',
  'rate_limited',
  'status_502',
  'hang_before',
] as const;
const KINDS = ['charge', 'authorize', 'capture', 'void', 'refund', 'confirm'] as const;
const LAG_MS = 2_500;

/** A scenario for one more request of every kind, so that whatever is held meets it. */
async function scenario(world: World, behaviour: string): Promise<void> {
  for (const kind of KINDS) await world.psp.scenario({ behaviour, match: { kind } });
}

type Webhooks = Parameters<World['psp']['webhooks']>[0];

/** Webhooks come in another way for some time: while T2 is held, what comes early is first. */
const webhooksCome = (fault: string, how: Webhooks): Held => ({
  fault,
  points: ['T1-done', 'T2', 'taken-over'],
  shared: 'psp',
  lastsMs: 1_500,
  strike: (world) => world.psp.webhooks(how),
  heal: (world) => world.psp.webhooks({}),
});

export async function healPsp({ psp }: World): Promise<void> {
  await psp.lookupLag(0);
  await psp.webhooks({});
}

export const PSP_FAULTS: readonly Held[] = [
  {
    fault: 'F13-psp-refuses',
    points: ['T1-done', 'taken-over'],
    lastsMs: 500,
    ...through('psp', 'refuse'),
  },
  {
    fault: 'F14-psp-reply-lost',
    points: ['T1-done', 'taken-over'],
    lastsMs: 50,
    ...through('psp', 'dropNextReply'),
  },
  {
    fault: 'F14-psp-executes-badly',
    points: ['T1-done'],
    strike: (world, _server, random) => scenario(world, `execute_then_${random.one(EXECUTED)}`),
  },
  {
    fault: 'F14-psp-killed',
    points: ['T1-done', 'taken-over', 'webhook'],
    shared: 'psp',
    lastsMs: 300,
    strike: ({ psp }) => psp.kill(),
    heal: ({ psp }) => psp.restart(),
  },
  {
    fault: 'F15-psp-does-not-execute',
    points: ['T1-done'],
    strike: (world, _server, random) => scenario(world, random.one(NOT_EXECUTED)),
  },
  {
    fault: 'F15-psp-look-up-fails',
    points: ['taken-over'],
    strike: ({ psp }) =>
      psp.scenario({ behaviour: 'status_500', match: { kind: 'lookup' }, times: 3 }),
  },
  {
    fault: 'F16-psp-late',
    points: ['T1-done', 'taken-over'],
    lastsMs: 2_000,
    ...through('psp', 'stall'),
  },
  webhooksCome('F17-webhooks-early', { delayMs: 0 }),
  webhooksCome('F17-webhooks-repeated', { delayMs: 0, copies: 4 }),
  webhooksCome('F17-webhooks-shuffled', { delayMs: 200, copies: 2, order: 'shuffle' }),
  webhooksCome('F17-webhooks-forged', { delayMs: 0, forge: true }),
  webhooksCome('F17-webhooks-late', { delayMs: 6_000 }),
  {
    fault: 'F18-look-up-lags',
    points: ['taken-over'],
    shared: 'psp',
    lastsMs: LAG_MS,
    strike: ({ psp }) => psp.lookupLag(LAG_MS),
    heal: ({ psp }) => psp.lookupLag(0),
  },
];
