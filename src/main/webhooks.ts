import { createHash } from 'node:crypto';
import type { Metrics, WebhookEndpointOptions } from '../http/index.ts';
import { type HearDeps, type Heard, hearEvent, type Letter } from '../payments/index.ts';
import type { OpenPsp, Webhook } from '../psp/index.ts';
import type { Log } from './log.ts';

interface Ears extends HearDeps {
  readonly psp: OpenPsp;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What `/webhooks/<psp>` is made of: the adapter judges and reads, the use case acts. */
export function webhooksOf(ears: Ears): WebhookEndpointOptions {
  const { psp, metrics } = ears;
  const count = (result: string) => metrics.webhooks.inc({ psp: psp.name, result });
  const { readWebhook } = psp;
  return {
    psp: psp.name,
    onRefused: (code) => count(code.toLowerCase()),
    take:
      readWebhook === undefined
        ? undefined
        : async (rawBody, headers) => {
            const webhook = readWebhook(rawBody, headers);
            if (webhook.kind === 'forged') return 'forged';
            const letter = letterOf(psp.name, rawBody, webhook);
            try {
              const heard = await hearEvent(ears, letter);
              count(heard.result.toLowerCase());
              tell(ears.log, letter, heard);
              return heard.result === 'UNKNOWN' ? 'unknown' : 'taken';
            } catch (err) {
              ears.log.warn({ err, ...namesIn(letter) }, 'a webhook could not be written');
              return 'unavailable';
            }
          },
  };
}

function letterOf(
  psp: string,
  rawBody: string,
  webhook: Exclude<Webhook, { kind: 'forged' }>,
): Letter {
  const { eventId, type } = webhook;
  const digest = createHash('sha256').update(rawBody).digest();
  return { psp, eventId, type, digest, event: webhook.kind === 'event' ? webhook : null };
}

/** What a person has to look at is an error in the log; of the rest the table has all. */
function tell(log: Log, letter: Letter, { result, entry }: Heard): void {
  const about = {
    ...namesIn(letter),
    said: letter.event?.outcome.kind,
    entryId: entry?.id,
    merchantId: entry?.merchantId,
    state: entry?.state,
  };
  switch (result) {
    case 'CONTRADICTED':
      log.error(about, 'ALERT: a webhook contradicts an outcome, which stays as it is');
      return;
    case 'IN_REVIEW':
      log.error(about, 'ALERT: by a webhook an entry is in review');
      return;
    case 'UNKNOWN':
      log.warn(
        about,
        'a webhook names a payment that is not known here: the PSP is to send it again',
      );
      return;
    case 'NOT_OURS':
      log.warn(about, 'a webhook about no payment of ours');
      return;
    default:
      log.debug(about, `webhook: ${result.toLowerCase()}`);
  }
}

const namesIn = ({ psp, eventId, type }: Letter) => ({ psp, eventId, type });
