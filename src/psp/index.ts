import type { Psp } from '../payments/index.ts';
import { createSimulatorPsp, type SimulatorPspSettings } from './simulator.ts';
import { createStripePsp, type StripePspSettings } from './stripe/adapter.ts';
import type { StripeWebhook } from './stripe/webhook.ts';

export type { SimulatorPspSettings } from './simulator.ts';
export type { StripePspSettings } from './stripe/adapter.ts';

/** A PSP that holds connections until it is closed; calls under way still end by their deadline. */
export type OpenPsp = Psp & {
  close(): Promise<void>;
  /** Judges and reads a webhook: the body as it came, header names in lower case. Never throws. */
  readWebhook?(
    rawBody: string,
    headers: Readonly<Record<string, string | undefined>>,
  ): StripeWebhook;
};

/** What each PSP's adapter is set up with. */
export interface PspSettings {
  readonly simulator: SimulatorPspSettings;
  readonly stripe: StripePspSettings;
}
export type PspName = keyof PspSettings;

/** One line for each PSP. */
const adapters: { readonly [N in PspName]: (settings: PspSettings[N]) => OpenPsp } = {
  simulator: createSimulatorPsp,
  stripe: createStripePsp,
};

export const PSP_NAMES = Object.keys(adapters) as [PspName, ...PspName[]];

/** Throws if a setting is not usable. */
export function createPsp<N extends PspName>(name: N, settings: PspSettings[N]): OpenPsp {
  return adapters[name](settings);
}
