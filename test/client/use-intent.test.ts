import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Hooks, makeUseIntent } from '../../src/client/use-intent.ts';
import { CART, euros, shop } from './shop.ts';

/** As much of React as one component needs: it renders again when its state changes. */
function mount<Shown>(component: (hooks: Hooks) => Shown) {
  const cells: unknown[] = [];
  const effects: { inputs: readonly unknown[]; stop: (() => void) | undefined }[] = [];
  let at = 0;
  let shown: Shown;
  const hooks: Hooks = {
    useState: <T>(initial: T) => {
      const cell = at;
      at += 1;
      if (!(cell in cells)) cells[cell] = initial;
      const set = (next: T): void => {
        cells[cell] = next;
        render();
      };
      return [cells[cell] as T, set];
    },
    useRef: <T>(initial: T) => {
      const cell = at;
      at += 1;
      cells[cell] ??= { current: initial };
      return cells[cell] as { current: T };
    },
    useEffect: (effect, inputs) => {
      const cell = at;
      at += 1;
      const before = effects[cell];
      if (before?.inputs.every((input, index) => input === inputs[index])) return;
      before?.stop?.();
      queued.push(() => {
        effects[cell] = { inputs, stop: effect() };
      });
    },
  };
  const queued: (() => void)[] = [];
  function render(): void {
    at = 0;
    shown = component(hooks);
    for (const run of queued.splice(0)) run();
  }
  render();
  return {
    get shown() {
      return shown;
    },
    render,
    unmount: () => {
      for (const effect of Object.values(effects)) effect.stop?.();
    },
  };
}

const mounted: { unmount(): void }[] = [];
afterEach(() => {
  for (const { unmount } of mounted.splice(0)) unmount();
});

function button(pay: ReturnType<typeof shop>['pay'], more: { resumeOnMount?: boolean } = {}) {
  const props = { scope: CART.scope as string, amount: 500 };
  const page = mount((hooks) =>
    makeUseIntent(hooks)(pay, 'createPayment', {
      scope: props.scope,
      vars: () => euros(props.amount),
      ...more,
    }),
  );
  mounted.push(page);
  return { page, props };
}

describe('useIntent', () => {
  it('shows the way from idle to settled', async () => {
    const { pay, server } = shop();
    const { page } = button(pay);
    expect(page.shown).toMatchObject({ phase: 'idle', outcome: undefined });
    page.shown.submit();
    page.shown.submit();
    expect(page.shown.phase).toBe('working');
    await vi.waitFor(() => expect(page.shown.outcome?.kind).toBe('settled'));
    expect(page.shown.phase).toBe('idle');
    expect(server.requests).toHaveLength(1);
  });

  it('resumes an earlier page, without sending a payment', async () => {
    const { pay, open, server } = shop(Array(5).fill('dropAnswer'), {
      more: { retry: { baseMs: 1 } },
    });
    await pay.run('createPayment', euros(500), CART);
    const { page } = button(open(), { resumeOnMount: true });
    await vi.waitFor(() => expect(page.shown.outcome).toMatchObject({ kind: 'settled' }));
    expect(server.requests.at(-1)?.operationName).toBe('PaymentByKey');
  });

  it('stays idle if there is nothing to resume', async () => {
    const { pay, server } = shop();
    const { page } = button(pay, { resumeOnMount: true });
    await vi.waitFor(() => expect(page.shown.phase).toBe('idle'));
    expect(page.shown.outcome).toBeUndefined();
    expect(server.requests).toEqual([]);
  });

  it('starts over after a decline', async () => {
    const { pay, server } = shop(['decline']);
    const { page } = button(pay);
    page.shown.submit();
    await vi.waitFor(() => expect(page.shown.outcome?.kind).toBe('declined'));
    page.shown.startOver();
    expect(page.shown.outcome).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 2));
    page.shown.submit();
    await vi.waitFor(() => expect(page.shown.outcome?.kind).toBe('settled'));
    expect(server.keys()).toHaveLength(2);
  });

  it('resumes what is unknown, and settles first what blocks', async () => {
    const { pay, server } = shop(Array(5).fill('dropAnswer'), { more: { retry: { baseMs: 1 } } });
    const { page, props } = button(pay);
    page.shown.submit();
    await vi.waitFor(() => expect(page.shown.outcome?.kind).toBe('unknown'));
    props.amount = 900;
    page.shown.submit();
    await vi.waitFor(() => expect(page.shown.outcome?.kind).toBe('blocked'));
    page.shown.resume();
    await vi.waitFor(() => expect(page.shown.outcome?.kind).toBe('settled'));
    expect(server.charges).toMatchObject([{ input: { amount: { amountMinor: 500 } } }]);
  });

  it('follows a payment that is processing', async () => {
    const { pay, server } = shop(['pending']);
    const { page } = button(pay);
    page.shown.submit();
    await vi.waitFor(() => expect(page.shown.outcome?.kind).toBe('processing'));
    expect(page.shown.phase).toBe('working');
    server.settle(server.keys()[0] ?? '', 'SUCCEEDED');
    await vi.waitFor(() => expect(page.shown.outcome?.kind).toBe('settled'), 3_000);
  });

  it('shows what another tab has paid', async () => {
    const { pay, open } = shop();
    const { page } = button(open());
    await pay.run('createPayment', euros(500), CART);
    await vi.waitFor(() => expect(page.shown.outcome).toMatchObject({ kind: 'settled' }));
  });

  it('shows nothing of another scope, and nothing after it has gone', async () => {
    const { pay } = shop();
    const { page, props } = button(pay);
    page.shown.submit();
    props.scope = 'cart:8:1';
    page.render();
    expect(page.shown).toMatchObject({ phase: 'idle', outcome: undefined });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(page.shown).toMatchObject({ phase: 'idle', outcome: undefined });
    page.shown.submit();
    page.unmount();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(page.shown.phase).toBe('working');
  });

  it('shows misuse as a rejection', async () => {
    const { pay } = shop();
    const { page, props } = button(pay);
    props.scope = '';
    page.render();
    page.shown.submit();
    await vi.waitFor(() =>
      expect(page.shown.outcome).toMatchObject({ problem: { code: 'MISUSE' } }),
    );
  });
});
