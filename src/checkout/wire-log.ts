import { make, part } from './dom.ts';
import type { WireEvent } from './network.ts';

const MOST_LINES = 40;

/** A line for everything that left this page or came back. */
export class WireLog {
  readonly #place = part('log', HTMLOListElement);

  wire(event: WireEvent): void {
    this.#add(...lineFor(event));
  }

  waiting(ms: number): void {
    this.#add('waiting', `… waits ${Math.round(ms)} ms`);
  }

  #add(kind: string, text: string): void {
    const at = new Date().toLocaleTimeString('en-GB', { hour12: false });
    this.#place.prepend(make('li', { class: kind }, make('time', {}, at), ` ${text}`));
    while (this.#place.childElementCount > MOST_LINES) this.#place.lastElementChild?.remove();
  }
}

function lineFor(event: WireEvent): [kind: string, text: string] {
  switch (event.is) {
    case 'refused':
      return ['lost', 'Offline: nothing left this page.'];
    case 'sent':
      return ['sent', `→ ${event.operation}, key ${event.key.slice(-8)}`];
    case 'answered':
      return ['answered', `← ${event.status} after ${event.tookMs} ms`];
    case 'dropped':
      return ['lost', `⨯ ${event.status} was answered and lost on its way`];
  }
}
