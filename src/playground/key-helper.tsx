import { Button, useVariablesEditorState } from '@graphiql/react';
import type { ReactNode } from 'react';
import { useEditor } from './editor.ts';
import { keyIn, newKey } from './key.ts';
import { useObserved } from './observed.ts';
import { sent } from './sent.ts';

/** Shows the key of the operation and changes it; whoever leaves it alone sends the same intent. */
export function KeyHelper(): ReactNode {
  const editor = useEditor();
  const [variables] = useVariablesEditorState();
  const { times } = useObserved(sent);
  const key = keyIn(variables);
  return (
    <section aria-labelledby="semel-key">
      <div className="semel-row">
        <h3 id="semel-key">Idempotency key</h3>
        <Button
          type="button"
          disabled={key === undefined}
          onClick={() => editor.setKey(newKey())}
          title="Puts a new key into the variables: a new intent"
        >
          New key
        </Button>
      </div>
      <p className="semel-key" aria-live="polite">
        {key === undefined ? (
          'This operation has no variable idempotencyKey.'
        ) : (
          <>
            <code>{key}</code> <span>{timesSent(times.get(key) ?? 0)}</span>
          </>
        )}
      </p>
    </section>
  );
}

function timesSent(times: number): string {
  if (times === 0) return 'not sent yet';
  return times === 1 ? 'sent once' : `sent ${times} times`;
}
