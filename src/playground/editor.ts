import { pick, tryParseJSONC, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import type { Example } from './examples.ts';
import { lastCaptured } from './fetcher.ts';
import { newKey, withKey } from './key.ts';
import { laidOut } from './layout.ts';
import type { Headers, Operation } from './send.ts';
import { sent } from './sent.ts';

/** What stands in the editors. */
export interface Present {
  readonly operation: Operation;
  readonly headers: Headers;
}

export interface Editor {
  /** False while the editors are still being made. */
  readonly ready: boolean;
  isEmpty(): boolean;
  /** @throws Error if the variables or headers are no JSON object. */
  read(): Present;
  open(query: string, variables: string): void;
  openExample(example: Example): void;
  setKey(key: string): void;
}

/** The editors of GraphiQL, as the panel uses them. */
export function useEditor(): Editor {
  const { addTab, changeTab, setOperationFacts } = useGraphiQLActions();
  const { queryEditor, variableEditor, headerEditor, operationName, tabs } = useGraphiQL(
    pick('queryEditor', 'variableEditor', 'headerEditor', 'operationName', 'tabs'),
  );
  const isEmpty = (): boolean => (queryEditor?.getValue() ?? '').trim() === '';

  /** A tab that has this query already is used again; an empty one is filled. */
  const open = (query: string, variables: string): void => {
    const index = tabs.findIndex((tab) => tab.query === query);
    if (index >= 0) changeTab(index);
    else if (!isEmpty()) addTab();
    queryEditor?.setValue(query);
    variableEditor?.setValue(variables);
    // GraphiQL learns the name a moment later; who runs it at once would send the old one.
    setOperationFacts(nameIn(query));
  };

  return {
    ready: queryEditor !== undefined && variableEditor !== undefined,
    isEmpty,
    read: () => ({
      operation: {
        query: queryEditor?.getValue() ?? '',
        variables: checked('Variables', variableEditor?.getValue()),
        operationName,
      },
      headers: checked('Headers', headerEditor?.getValue()) ?? {},
    }),
    open,
    openExample: ({ query, variables }) => {
      const past = { last: sent.get().last, captured: lastCaptured.get(), newKey };
      open(query, laidOut(variables(past)));
    },
    setKey: (key) => variableEditor?.setValue(withKey(variableEditor.getValue(), key)),
  };
}

function nameIn(query: string): { operationName?: string } {
  const name = /^\s*(?:query|mutation|subscription)\s+(\w+)/m.exec(query)?.[1];
  return name === undefined ? {} : { operationName: name };
}

function checked(pane: string, text: string | undefined): Headers | undefined {
  try {
    return tryParseJSONC(text);
  } catch (error) {
    throw new Error(`${pane} ${error instanceof Error ? error.message : String(error)}`);
  }
}
