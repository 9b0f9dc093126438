import { type MouseEvent, type ReactNode, useId } from 'react';
import { useEditor } from './editor.ts';
import { EXAMPLES, type Example } from './examples.ts';

/** The ready operations. Each is a link too, which can be copied or opened in another window. */
export function ExampleList(): ReactNode {
  const editor = useEditor();
  const heading = useId();
  const open = (event: MouseEvent, example: Example): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    editor.openExample(example);
  };
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>Examples</h3>
      <ol className="semel-examples">
        {EXAMPLES.map((example) => (
          <li key={example.id}>
            <a href={`?example=${example.id}`} onClick={(event) => open(event, example)}>
              <strong>{example.label}</strong>
              <span>{example.see}</span>
            </a>
          </li>
        ))}
      </ol>
    </section>
  );
}
