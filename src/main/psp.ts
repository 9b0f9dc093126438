import { createPsp, type OpenPsp } from '../psp/index.ts';
import type { Config } from './config.ts';

/** The PSP that the configuration names, with its own settings. */
export async function openPsp(config: Config, simulatorUrl: string | undefined): Promise<OpenPsp> {
  const timeoutMs = config.PSP_TIMEOUT_MS;
  if (config.PSP === 'simulator')
    return createPsp('simulator', { url: simulatorUrl ?? '', timeoutMs });
  return createPsp('stripe', {
    secretKey: config.STRIPE_SECRET_KEY ?? '',
    apiBase: config.STRIPE_API_BASE,
    webhookSecrets: config.STRIPE_WEBHOOK_SECRET?.split(',').map((secret) => secret.trim()),
    returnUrl: config.STRIPE_RETURN_URL,
    timeoutMs,
  });
}
