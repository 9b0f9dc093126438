import { useGraphiQL } from '@graphiql/react';
import type { ReactNode } from 'react';
import { lastRun, type Run } from './fetcher.ts';
import { Gist } from './gist.tsx';
import { useObserved } from './observed.ts';

/** Stands below the answer of a tab and says what came around it. */
export function LastAnswer(): ReactNode {
  const tab = useGraphiQL(({ tabs, activeTabIndex }) => tabs[activeTabIndex]?.id ?? '');
  const answer = runOf(tab, useObserved(lastRun))?.answer;
  return (
    <output className="semel-answer" aria-label="Last answer">
      {answer === undefined ? null : <Gist answer={answer} />}
    </output>
  );
}

const runs = new Map<string, Run>();
let assigned: Run | undefined;

/** GraphiQL shows an answer in the tab that is open when it comes; so it is noted for that one. */
function runOf(tab: string, latest: Run): Run | undefined {
  if (latest !== assigned) runs.set(tab, latest);
  assigned = latest;
  return runs.get(tab);
}
