import type { Shown } from './attempt.ts';
import { button, icon, make, part } from './dom.ts';
import { type Action, wordsFor } from './words.ts';

/** Shows what became of the payment, and offers what can be done now. */
export function showOutcome(shown: Shown, act: (action: Action) => void): void {
  const place = part('outcome', HTMLDivElement);
  const { tone, title, text, action } = wordsFor(shown);
  const hadFocus = place.contains(document.activeElement) && document.activeElement !== place;
  place.dataset['tone'] = tone;
  place.dataset['kind'] = shown.work === undefined ? (shown.outcome?.kind ?? 'none') : 'working';
  place.replaceChildren(
    icon(tone),
    make(
      'div',
      {},
      make('h3', {}, title),
      make('p', {}, text),
      ...receipt(shown),
      ...(action ? [button(action.label, () => act(action.does))] : []),
    ),
  );
  // The button that was pressed is gone; who uses the keyboard must not be thrown to the top.
  if (hadFocus) place.focus();
}

function receipt({ work, outcome }: Shown): HTMLElement[] {
  if (outcome === undefined || work === 'paying') return [];
  switch (outcome.kind) {
    case 'settled': {
      const { amount, id, status, createdAt } = outcome.value;
      return [
        list([
          ['Amount', `${amount.currency} ${amount.decimal}`],
          ['Payment', id],
          ['Status', status.toLowerCase().replaceAll('_', ' ')],
          ['Made at', new Date(createdAt).toLocaleString('en-GB')],
          ['Key', outcome.key],
        ]),
      ];
    }
    case 'unknown':
      return [
        list([
          ['Tries', String(outcome.attempts)],
          ['Key', outcome.key],
        ]),
      ];
    case 'blocked':
      return [list([['Open key', outcome.unsettledKey]])];
    case 'processing':
      return [list([['Key', outcome.key]])];
    case 'declined':
    case 'rejected':
      return [];
  }
}

function list(lines: readonly (readonly [string, string])[]): HTMLElement {
  const rows = lines.map(([name, value]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value)),
  );
  return make('dl', { class: 'receipt' }, ...rows);
}
