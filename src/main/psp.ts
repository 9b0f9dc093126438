import { createPsp, type OpenPsp } from '../psp/index.ts';
import type { Config } from './config.ts';

/** Where the simulator is, if it is the PSP, and what it signs webhooks with. */
export interface SimulatorPlace {
  readonly simulatorUrl: string | undefined;
  readonly simulatorSecrets: string[];
}

/** A list by commas: the present secret, and those before or after it. */
export function secretsIn(list: string | undefined): string[] {
  return (list ?? '').split(',').flatMap((secret) => secret.trim() || []);
}

/** The PSP that the configuration names, with its own settings. */
export async function openPsp(config: Config, at: SimulatorPlace): Promise<OpenPsp> {
  const timeoutMs = config.PSP_TIMEOUT_MS;
  const askAgainMs = config.PSP_ASK_AGAIN_MS;
  if (config.PSP === 'simulator') {
    const webhookSecrets = at.simulatorSecrets;
    return createPsp('simulator', {
      url: at.simulatorUrl ?? '',
      timeoutMs,
      askAgainMs,
      webhookSecrets,
      keyWindowMs: config.SIMULATOR_KEY_WINDOW_MS,
      settlingMs: config.SIMULATOR_SETTLING_MS,
      lookup: config.SIMULATOR_LOOKUP,
    });
  }
  return createPsp('stripe', {
    secretKey: config.STRIPE_SECRET_KEY ?? '',
    apiBase: config.STRIPE_API_BASE,
    webhookSecrets: secretsIn(config.STRIPE_WEBHOOK_SECRET),
    returnUrl: config.STRIPE_RETURN_URL,
    timeoutMs,
    askAgainMs,
  });
}
