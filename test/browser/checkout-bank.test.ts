import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStreet, type Shop, type Street } from '../support/checkout.ts';
import { createDatabase } from '../support/database.ts';
import { eventually } from '../support/pay.ts';
import { startTestServer } from '../support/with-server.ts';

describe('the checkout, whatever the bank does', { timeout: 60_000 }, () => {
  let street: Street;
  beforeAll(async () => {
    street = await openStreet();
  }, 120_000);
  afterAll(() => street?.end());

  let before = 0;
  beforeEach(async () => {
    before = (await street.simulator.executions()).length;
  });
  const executed = async () => (await street.simulator.executions()).length - before;

  test.each(['pm_execute_then_hang', 'pm_execute_then_reset', 'pm_execute_then_500'])(
    '%s: it is found out, and paid once',
    async (method) => {
      await street.shopping(method, async (shop) => {
        await shop.pay.click();
        await shop.says('Finding out');
        await street.shoot(shop.page, method);
        await shop.pay.click();
        await shop.says('This is your earlier payment');
        await shop.showsOneCharge();
      });
      expect(await executed()).toBe(1);
    },
  );

  test('a bank that turns tries away is asked again when it says', async () => {
    await street.shopping('pm_rate_limited_2', async (shop) => {
      await shop.pay.click();
      await shop.settled();
      await shop.showsOneCharge();
    });
    expect(await executed()).toBe(1);
  });

  test('a declined payment is over: the next press is a new attempt', async () => {
    await street.shopping('pm_declined', async (shop) => {
      await shop.pay.click();
      await shop.says('The bank refused this payment. No money moved.');
      await street.shoot(shop.page, 'declined');
      expect(await executed()).toBe(0);
      await shop.reload();
      await shop.says('Declined');
      await shop.button('Choose another method').click();
      await shop.bank('pm_insufficient_funds');
      await shop.pay.click();
      await shop.says('There is not enough money');
      await shop.bank('pm_ok');
      await shop.pay.click();
      await shop.says('You were charged once');
      await shop.showsOneCharge();
    });
    expect(await executed()).toBe(1);
  });

  test('a bank that charges another amount is a case for a person', async () => {
    await street.shopping('pm_wrong_amount', async (shop) => {
      await shop.pay.click();
      await shop.says('A person has to look');
      await shop.showsOneCharge();
      await street.shoot(shop.page, 'wrong-amount');
    });
    expect(await executed()).toBe(1);
  });

  test('a cart that is left with an open payment is not forgotten', async () => {
    await street.shopping('pm_execute_then_hang', async (shop) => {
      await shop.pay.click();
      await shop.says('Finding out');
      await shop.button('Another cart').click();
      await shop.says('Not paid yet');
      const earlier = shop.page.getByLabel('Earlier carts');
      await earlier.getByText('has a payment whose outcome is open').waitFor();
      await street.shoot(shop.page, 'earlier');
      await eventually(
        async () => {
          await shop.button('Find out').click();
          await shop.page.waitForTimeout(250);
          return (await earlier.textContent()) ?? '';
        },
        (said) => said.includes('Paid. This is your earlier payment.'),
      );
    });
    expect(await executed()).toBe(1);
  });

  test('a changed cart is another payment', async () => {
    await street.shopping('pm_declined', async (shop) => {
      await shop.pay.click();
      await shop.says('Declined');
      await shop.page.getByRole('button', { name: 'One more: Enamel cup' }).click();
      await shop.says('Not paid yet');
      await shop.page.getByText('revision 2').waitFor();
      expect(await shop.numbers()).toEqual({ pressed: 0, sent: 0, charges: 0 });
      await shop.bank('pm_ok');
      await shop.page.getByRole('button', { name: 'Pay €44.50' }).click();
      await shop.settled();
      await shop.newOrder();
      await shop.pay.click();
      await shop.settled();
    });
    expect(await executed()).toBe(2);
  });

  test('in the dark, and by keyboard alone', async () => {
    await street.shopping(
      'pm_ok',
      async (shop) => {
        // Past the cart: three kinds, with a button for less and one for more each.
        for (let presses = 0; presses < 7; presses++) await shop.page.keyboard.press('Tab');
        expect(await focused(shop)).toBe('Pay €35.00');
        await street.shoot(shop.page, 'dark-focus');
        await shop.page.keyboard.press('Enter');
        await shop.settled();
        await street.shoot(shop.page, 'dark-paid');
        await shop.page.keyboard.press('Tab');
        expect(await focused(shop)).toBe('Start a new order');
        await shop.page.keyboard.press('Enter');
        await shop.says('Not paid yet');
        expect(await focused(shop)).toContain('Not paid yet');
      },
      { viewport: { width: 1180, height: 960 }, colorScheme: 'dark' },
    );
  });

  test.each(['light', 'dark'] as const)('on a narrow screen, %s', async (colorScheme) => {
    await street.shopping(
      'pm_ok',
      async (shop) => {
        await shop.loseAnswers('once');
        await shop.pay.click();
        await shop.settled();
        await shop.page.getByText('Things to try').click();
        await street.shoot(shop.page, `narrow-${colorScheme}`);
        expect(await shop.page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      },
      { viewport: { width: 360, height: 740 }, colorScheme },
    );
  });

  test('its policy allows nothing inline and nothing from elsewhere', async () => {
    const { headers } = await fetch(`${street.server.url}/checkout`);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
  });

  test('charges are told for a key, and for nothing else', async () => {
    const charges = (search: string) => fetch(`${street.server.url}/checkout/charges${search}`);
    expect(await (await charges('?key=never-used')).json()).toEqual({ executions: 0 });
    expect((await charges('')).status).toBe(400);
    expect((await charges('?key=%00')).status).toBe(400);
  });

  test('without a demo merchant there is no shop', async () => {
    const database = await createDatabase();
    const env = {
      DATABASE_URL: database.url,
      SIMULATOR_URL: street.simulator.url,
      DEMO_API_KEY: '',
    };
    const server = await startTestServer({ env });
    try {
      for (const path of ['', '/', '/index.html', '/demo.json', '/charges?key=a']) {
        expect((await fetch(`${server.url}/checkout${path}`)).status).toBe(404);
      }
    } finally {
      await server.stop();
      await database.drop();
    }
  });
});

/** What the one element says that has the focus. */
async function focused({ page }: Shop): Promise<string> {
  return (await page.locator(':focus').textContent()) ?? '';
}
