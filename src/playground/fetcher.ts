import type { GraphiQLProps } from 'graphiql';
import { type Observed, observed } from './observed.ts';
import { type Answer, follow, isSubscription, type Operation, send } from './send.ts';
import { summaryOf } from './summary.ts';

type Fetcher = GraphiQLProps['fetcher'];
type Result = Awaited<Extract<ReturnType<Fetcher>, Promise<unknown>>>;

/** One press of the button: first without its answer, and without one for good if none comes. */
export interface Run {
  readonly answer: Answer | undefined;
}

export const lastRun: Observed<Run> = observed<Run>({ answer: undefined });

/** The id of the payment that was answered as captured last: one that can be refunded. */
export const lastCaptured: Observed<string | undefined> = observed<string | undefined>(undefined);

/** Hands GraphiQL the answer unchanged and keeps what came around it; a subscription, as it comes. */
export const fetcher: Fetcher = async (operation: Operation, options) => {
  if (isSubscription(operation)) {
    lastRun.set({ answer: undefined });
    return follow(operation, options?.headers) as AsyncIterable<Awaited<Result>> as Result;
  }
  const asksForSchema = operation.operationName === 'IntrospectionQuery';
  if (!asksForSchema) lastRun.set({ answer: undefined });
  const answer = await send(operation, options?.headers);
  if (!asksForSchema) lastRun.set({ answer });
  const { status, paymentId } = summaryOf(answer.body);
  if (status === 'CAPTURED' && paymentId !== undefined) lastCaptured.set(paymentId);
  return answer.body as Result;
};
