import type { Config } from './config.ts';
import type { Parts } from './embed.ts';

const ANSWER_MS = 5_000;
/** The embedded simulator tells this long after the PSP time-out, in ms. */
const LATE_MS = 1_000;

/**
 * Has the embedded simulator send its webhooks to this server. They come late on purpose, so that the
 * answer to the call can be seen to come first, and so can what a lost answer leaves in doubt.
 */
export async function sendWebhooksTo(
  serverUrl: string,
  { simulatorUrl, simulatorSecrets: [secret] }: Parts,
  { PSP_TIMEOUT_MS }: Config,
): Promise<void> {
  const webhook = {
    url: `${serverUrl}/webhooks/simulator`,
    secret,
    delayMs: PSP_TIMEOUT_MS + LATE_MS,
  };
  const response = await fetch(`${simulatorUrl}/admin/settings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ webhook }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error('The embedded PSP simulator takes no webhook settings.');
}
