import { Button } from '@graphiql/react';
import { type ReactNode, useState } from 'react';
import { curlOf } from './curl.ts';
import { type Editor, useEditor } from './editor.ts';

interface Copy {
  readonly said: string;
  /** To be copied by hand, where the browser keeps pages from the clipboard. */
  readonly command?: string;
}

/** Copies the present operation, its headers included, as a command. */
export function CopyCurl(): ReactNode {
  const editor = useEditor();
  const [copy, setCopy] = useState<Copy>();
  return (
    <section aria-label="The operation as a command">
      <Button type="button" onClick={() => void copied(editor).then(setCopy)}>
        Copy as curl
      </Button>
      <div className="semel-said" aria-live="polite">
        {copy?.said}
        {copy?.command === undefined ? null : <Command text={copy.command} />}
      </div>
    </section>
  );
}

function Command({ text }: { readonly text: string }): ReactNode {
  return (
    <textarea
      className="semel-command"
      readOnly
      aria-label="curl command"
      value={text}
      onFocus={({ currentTarget }) => currentTarget.select()}
    />
  );
}

async function copied(editor: Editor): Promise<Copy> {
  let command: string;
  try {
    const { operation, headers } = editor.read();
    command = curlOf(operation, headers, location.origin);
  } catch (error) {
    return { said: error instanceof Error ? error.message : String(error) };
  }
  try {
    await navigator.clipboard.writeText(command);
    return { said: 'Copied, with the API key in it.' };
  } catch {
    return { said: 'Copy it from here:', command };
  }
}
