import { setTimeout as sleep } from 'node:timers/promises';
import type { ProxyMode } from '../../support/proxy.ts';
import { CLOCK_SEEN_WITHIN_MS } from './clock.ts';
import type { Held } from './faults.ts';
import type { Ways } from './places.ts';
import type { Server } from './server.ts';
import type { World } from './world.ts';

const HOUR_S = 3_600;

/** A fault of one server's way to something. */
export const through = (which: keyof Ways, mode: ProxyMode) => ({
  strike: async (world: World, server: Server) => world.waysOf(server)[which]?.set(mode),
  heal: async (world: World, server: Server) => world.waysOf(server)[which]?.set('pass'),
});

/** What befalls a server itself, or comes from its clients. */
export const SERVER_FAULTS: readonly Held[] = [
  {
    fault: 'F20-clients-gone',
    points: ['claimed', 'T1', 'T1-done', 'T2', 'remember'],
    lastsMs: 50,
    ...through('clients', 'reset'),
  },
  {
    fault: 'F21-clock-jumps',
    points: ['claim', 'T1-done', 'T2', 'taken-over', 'webhook'],
    lastsMs: 1_500,
    strike: async (_world, { clock }, random) => {
      clock?.set(random.chance(0.5) ? HOUR_S : -HOUR_S);
      await sleep(CLOCK_SEEN_WITHIN_MS);
    },
    heal: async (_world, { clock }) => clock?.set(0),
  },
  {
    fault: 'F22-overload',
    points: ['request', 'T1', 'taken-over'],
    shared: 'load',
    strike: async (world) => world.rush(),
  },
];
