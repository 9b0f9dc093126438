import type { Psp } from '../payments/index.ts';
import { createSimulatorPsp, type SimulatorPspSettings } from './simulator.ts';

export type { SimulatorPspSettings } from './simulator.ts';

/** A PSP that holds connections until it is closed; calls under way still end by their deadline. */
export type OpenPsp = Psp & { close(): Promise<void> };

/** What each PSP's adapter is set up with. */
export interface PspSettings {
  readonly simulator: SimulatorPspSettings;
}
export type PspName = keyof PspSettings;

/** One line for each PSP. */
const adapters: { readonly [N in PspName]: (settings: PspSettings[N]) => OpenPsp } = {
  simulator: createSimulatorPsp,
};

export const PSP_NAMES = Object.keys(adapters) as readonly PspName[];

/** Throws if a setting is not usable. */
export function createPsp<N extends PspName>(name: N, settings: PspSettings[N]): OpenPsp {
  return adapters[name](settings);
}
