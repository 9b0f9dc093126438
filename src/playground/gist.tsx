import type { ReactNode } from 'react';
import type { Answer } from './send.ts';
import { summaryOf } from './summary.ts';

/** An answer in a line: outcome, where the payment stands, HTTP status, when to come back, time taken. */
export function Gist({ answer }: { readonly answer: Answer }): ReactNode {
  const { word, tone, status } = summaryOf(answer.body);
  return (
    <span className="semel-gist">
      <strong data-tone={tone}>{word}</strong>
      {status === undefined ? null : <span>{status}</span>}
      <span>HTTP {answer.status}</span>
      {answer.retryAfter === null ? null : <span>Retry-After: {answer.retryAfter}</span>}
      <span>{answer.tookMs} ms</span>
    </span>
  );
}
