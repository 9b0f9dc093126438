import type { GraphiQLPlugin } from '@graphiql/react';
import { useHeadersEditorState } from '@graphiql/react';
import type { ReactNode } from 'react';
import { CopyCurl } from './copy-curl.tsx';
import { ExampleList } from './example-list.tsx';
import { KeyHelper } from './key-helper.tsx';
import { Twice } from './twice.tsx';

export const PANEL: GraphiQLPlugin = { title: 'Examples and keys', icon: Icon, content: Panel };

function Panel(): ReactNode {
  return (
    <div className="semel-panel">
      <h2>Pay exactly once</h2>
      <KeyReminder />
      <KeyHelper />
      <div className="semel-actions">
        <Twice />
        <CopyCurl />
      </div>
      <ExampleList />
    </div>
  );
}

/** Where the server gives no key away, the reader has to bring one. */
function KeyReminder(): ReactNode {
  const [headers] = useHeadersEditorState();
  if (/"authorization"/i.test(headers)) return null;
  return (
    <p className="semel-reminder">
      Put your API key into the Headers pane, then reload the schema:{' '}
      <code>{'{ "Authorization": "Bearer <key>" }'}</code>
    </p>
  );
}

function Icon(): ReactNode {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="2" aria-hidden="true">
      <circle cx="8" cy="15" r="4.5" />
      <path d="M11.5 11.5 20 3m-4.5 4.5L19 11" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
