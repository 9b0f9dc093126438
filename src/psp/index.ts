import type { Psp } from '../payments/index.ts';
import { createSimulatorPsp, type SimulatorPspSettings } from './simulator.ts';
import type { StripePspSettings } from './stripe/adapter.ts';
import type { ReadWebhook } from './webhook.ts';

export { LOOKUPS, type SimulatorPspSettings } from './simulator.ts';
export { isSigningSecret } from './simulator-webhook.ts';
export type { StripePspSettings } from './stripe/adapter.ts';
export type { Webhook } from './webhook.ts';

/** A PSP that holds connections until it is closed; calls under way still end by their deadline. */
export type OpenPsp = Psp & {
  close(): Promise<void>;
  /** Missing if no signing secret is known. */
  readonly readWebhook?: ReadWebhook;
};

/** What each PSP's adapter is set up with. */
export interface PspSettings {
  readonly simulator: SimulatorPspSettings;
  readonly stripe: StripePspSettings;
}
export type PspName = keyof PspSettings;

type Create<Settings> = (settings: Settings) => OpenPsp | Promise<OpenPsp>;

/** One line for each PSP. An SDK is loaded only where it is used: it takes its time. */
const adapters: { readonly [N in PspName]: Create<PspSettings[N]> } = {
  simulator: createSimulatorPsp,
  stripe: async (settings) => (await import('./stripe/adapter.ts')).createStripePsp(settings),
};

export const PSP_NAMES = Object.keys(adapters) as [PspName, ...PspName[]];

/** Rejects if a setting is not usable. */
export async function createPsp<N extends PspName>(
  name: N,
  settings: PspSettings[N],
): Promise<OpenPsp> {
  return adapters[name](settings);
}
