import Negotiator from 'negotiator';

const JSON_TYPE = 'application/json';
const GRAPHQL_TYPE = 'application/graphql-response+json';
/** As they are sent, so that a client which names the charset is understood. */
const OFFERED = [JSON_TYPE, GRAPHQL_TYPE].map((type) => `${type}; charset=utf-8`);

/**
 * The media type to answer in, or undefined if the client accepts none that we have. Decided before
 * anything runs: a payment must not be made only to be answered with 406.
 */
export function acceptable(accept: string | undefined): string | undefined {
  if (accept === undefined || accept === '*/*' || accept === JSON_TYPE) return JSON_TYPE;
  if (accept === GRAPHQL_TYPE) return GRAPHQL_TYPE;
  return new Negotiator({ headers: { accept } }).mediaType(OFFERED)?.split(';')[0];
}

const STREAM_TYPE = 'text/event-stream';

/** True if the client would rather have server-sent events than any whole answer. */
export function wantsStream(accept: string | undefined): boolean {
  if (accept === undefined || !accept.includes(STREAM_TYPE)) return false;
  return (
    new Negotiator({ headers: { accept } }).mediaType([...OFFERED, STREAM_TYPE]) === STREAM_TYPE
  );
}
