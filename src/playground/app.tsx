import { GraphiQL } from 'graphiql';
import type { ReactNode } from 'react';
import { DeepLink } from './deep-link.tsx';
import { fetcher } from './fetcher.ts';
import { LastAnswer } from './last-answer.tsx';
import { PANEL } from './panel.tsx';

/** GraphiQL's own history is left out: it stores the headers of every request, whatever is set here. */
const PLUGINS = [PANEL];

/** GraphiQL with the panel. API keys stay in memory: headers are never stored. */
export function App({ apiKey }: { readonly apiKey: string | null }): ReactNode {
  const headers =
    apiKey === null ? '' : JSON.stringify({ Authorization: `Bearer ${apiKey}` }, null, 2);
  return (
    <GraphiQL
      fetcher={fetcher}
      plugins={PLUGINS}
      visiblePlugin={PANEL}
      defaultQuery=""
      initialHeaders={headers}
      defaultHeaders={headers}
      shouldPersistHeaders={false}
      defaultEditorToolsVisibility="variables"
    >
      <GraphiQL.Logo>
        <span className="semel-logo">Semel</span>
      </GraphiQL.Logo>
      <GraphiQL.Footer>
        <LastAnswer />
      </GraphiQL.Footer>
      <DeepLink />
    </GraphiQL>
  );
}
