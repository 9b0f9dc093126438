import { Button } from '@graphiql/react';
import { type ReactNode, useState } from 'react';
import { type Editor, useEditor } from './editor.ts';
import { Gist } from './gist.tsx';
import { type Answer, send } from './send.ts';
import { summaryOf } from './summary.ts';

type Attempt = Answer | Error;

/** Fires the present operation two times before the first answer can come. */
export function Twice(): ReactNode {
  const editor = useEditor();
  const [isSending, setSending] = useState(false);
  const [attempts, setAttempts] = useState<readonly Attempt[]>([]);
  const fire = async (): Promise<void> => {
    setSending(true);
    setAttempts(await twice(editor));
    setSending(false);
  };
  return (
    <section aria-label="Two requests at once">
      <Button type="button" disabled={isSending} onClick={() => void fire()}>
        {isSending ? 'Sending…' : 'Send twice at once'}
      </Button>
      <div className="semel-said" aria-live="polite">
        {attempts.length === 0 ? null : <Outcomes attempts={attempts} />}
      </div>
    </section>
  );
}

async function twice(editor: Editor): Promise<readonly Attempt[]> {
  try {
    const { operation, headers } = editor.read();
    const attempt = (): Promise<Attempt> => send(operation, headers).catch(asError);
    return await Promise.all([attempt(), attempt()]);
  } catch (error) {
    return [asError(error)];
  }
}

function Outcomes({ attempts }: { readonly attempts: readonly Attempt[] }): ReactNode {
  const [first, second] = attempts;
  return (
    <>
      <ul className="semel-twice">
        {attempts.map((attempt, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the two have nothing but their order.
          <li key={index}>
            {attempt instanceof Error ? attempt.message : <Gist answer={attempt} />}
          </li>
        ))}
      </ul>
      <p>{remark(first, second)}</p>
    </>
  );
}

function remark(first: Attempt | undefined, second: Attempt | undefined): string {
  if (first === undefined || first instanceof Error) return '';
  if (second === undefined || second instanceof Error) return '';
  const [one, other] = [summaryOf(first.body), summaryOf(second.body)];
  if (one.word === 'REPLAYED' && other.word === 'REPLAYED') {
    return 'This key has its answer already. Press “New key” to see one EXECUTED.';
  }
  const isSame = one.paymentId !== undefined && one.paymentId === other.paymentId;
  return isSame ? 'Both name the same payment: it was charged once.' : '';
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
