/** The hook in the real React and the real Preact. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { UseIntent } from '../../src/client/use-intent.ts';
import { CART, euros, shop } from './shop.ts';
import { TinyDocument, type TinyNode } from './tiny-dom.ts';

type Pay = ReturnType<typeof shop>['pay'];
type CreateElement = (type: unknown, props: object | null, ...children: unknown[]) => unknown;
/** Shows a component. @returns how to take it away */
type Mount = (pay: Pay, container: TinyNode) => () => void;

/** A button that says how far the payment is. */
function payButton(useIntent: UseIntent, createElement: CreateElement) {
  return ({ pay }: { pay: Pay }) => {
    const attempt = useIntent(pay, 'createPayment', {
      scope: CART.scope,
      vars: () => euros(500),
      resumeOnMount: true,
    });
    const text = attempt.outcome?.kind ?? attempt.phase;
    return createElement('button', { type: 'button', onClick: attempt.submit }, text);
  };
}

const LIBRARIES: Readonly<Record<string, () => Promise<Mount>>> = {
  React: async () => {
    const [{ createElement, StrictMode }, { createRoot }, { useIntent }] = await Promise.all([
      import('react'),
      import('react-dom/client'),
      import('../../src/client/react.ts'),
    ]);
    const Button = payButton(useIntent, createElement as CreateElement) as () => null;
    return (pay, container) => {
      const root = createRoot(container as never);
      // In strict mode effects run, stop and run again: nothing may be sent twice by that.
      root.render(createElement(StrictMode, null, createElement(Button, { pay } as object)));
      return () => root.unmount();
    };
  },
  Preact: async () => {
    const [{ createElement, render }, { useIntent }] = await Promise.all([
      import('preact'),
      import('../../src/client/preact.ts'),
    ]);
    const Button = payButton(useIntent, createElement as CreateElement) as () => null;
    return (pay, container) => {
      render(createElement(Button, { pay } as object), container as never);
      return () => render(null, container as never);
    };
  },
};

let page: TinyDocument;
const mounted: (() => void)[] = [];

beforeAll(() => {
  page = new TinyDocument();
  vi.stubGlobal('window', globalThis);
  vi.stubGlobal('document', page);
  vi.stubGlobal('navigator', { userAgent: '' });
  vi.stubGlobal('HTMLIFrameElement', class {});
});
afterEach(() => {
  for (const unmount of mounted.splice(0)) unmount();
});
afterAll(() => {
  vi.unstubAllGlobals();
});

describe.each(Object.entries(LIBRARIES))('useIntent of %s', (_name, load) => {
  async function show(pay: Pay) {
    const mount = await load();
    const container = page.body.appendChild(page.createElement('div'));
    mounted.push(mount(pay, container));
    const text = () => container.textContent;
    await vi.waitFor(() => expect(text()).not.toBe(''));
    return { text, press: () => container.find('button')?.click() };
  }

  it('pays once when the button is pressed twice', async () => {
    const { pay, server } = shop(['dropAnswer'], { more: { retry: { baseMs: 1 } } });
    const { text, press } = await show(pay);
    await vi.waitFor(() => expect(text()).toBe('idle'));
    press();
    press();
    await vi.waitFor(() => expect(text()).toBe('settled'));
    expect(server.charges).toHaveLength(1);
  });

  it('shows after a reload what became of it, and pays no second time', async () => {
    const { pay, open, server } = shop(Array(5).fill('dropAnswer'), {
      more: { retry: { baseMs: 1 } },
    });
    expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('unknown');
    const { text } = await show(open());
    await vi.waitFor(() => expect(text()).toBe('settled'));
    expect(server.charges).toHaveLength(1);
  });
});
