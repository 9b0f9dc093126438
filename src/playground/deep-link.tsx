import { useEffect, useRef } from 'react';
import { type Editor, useEditor } from './editor.ts';
import { EXAMPLES } from './examples.ts';

/** Opens what the address asks for, and on a first visit the first example. Nothing is run by it. */
export function DeepLink(): null {
  const editor = useEditor();
  const isOpened = useRef(false);
  useEffect(() => {
    if (!editor.ready || isOpened.current) return;
    isOpened.current = true;
    openLinked(editor, new URLSearchParams(location.search));
  });
  return null;
}

function openLinked(editor: Editor, asked: URLSearchParams): void {
  const example = EXAMPLES.find(({ id }) => id === asked.get('example'));
  const query = asked.get('query');
  const [first] = EXAMPLES;
  if (example !== undefined) editor.openExample(example);
  else if (query !== null) editor.open(query, asked.get('variables') ?? '');
  else if (editor.isEmpty() && first !== undefined) editor.openExample(first);
}
