import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStreet, type Street } from '../support/checkout.ts';
import { eventually } from '../support/pay.ts';

describe('the checkout, in a real browser', { timeout: 60_000 }, () => {
  let street: Street;
  const { shopping, shoot }: Pick<Street, 'shopping' | 'shoot'> = {
    shopping: (...given) => street.shopping(...given),
    shoot: (...given) => street.shoot(...given),
  };

  beforeAll(async () => {
    street = await openStreet();
  }, 120_000);
  afterAll(() => street?.end());

  let before = { executions: 0, requests: 0 };
  const books = async () => ({
    executions: (await street.simulator.executions()).length,
    requests: (await street.simulator.requests()).filter(({ method }) => method === 'POST').length,
  });
  beforeEach(async () => {
    before = await books();
  });
  const executed = async () => (await books()).executions - before.executions;
  const atThePsp = () => eventually(books, ({ requests }) => requests > before.requests);

  test('one press is one charge, and another press shows the earlier payment', async () => {
    await shopping('pm_ok', async (shop) => {
      await shoot(shop.page, 'open');
      await shop.pay.click();
      await shop.says('You were charged once');
      await shop.showsOneCharge();
      expect(await shop.numbers()).toEqual({ pressed: 1, sent: 1, charges: 1 });
      await shop.pay.click();
      await shop.says('This is your earlier payment');
      await shop.showsOneCharge();
      expect(await shop.numbers()).toEqual({ pressed: 2, sent: 2, charges: 1 });
      await shoot(shop.page, 'paid');
    });
    expect(await executed()).toBe(1);
  });

  test('a double click is one request and one charge', async () => {
    await shopping('pm_slow_300', async (shop) => {
      await shop.pay.dblclick();
      await shop.settled();
      await shop.showsOneCharge();
      expect(await shop.numbers()).toEqual({ pressed: 2, sent: 1, charges: 1 });
    });
    expect(await executed()).toBe(1);
  });

  test('two tabs that pay at once share one payment', async () => {
    await shopping('pm_slow_300', async (shop) => {
      const other = await shop.secondTab();
      await Promise.all([shop.pay.click(), other.pay.click()]);
      await Promise.all([shop.settled(), other.settled()]);
      await Promise.all([shop.showsOneCharge(), other.showsOneCharge()]);
      expect((await shop.numbers()).pressed).toBe(2);
      expect(await shop.payment()).toBe(await other.payment());
    });
    expect(await executed()).toBe(1);
  });

  test('a tab that did nothing sees what another tab has paid', async () => {
    await shopping('pm_slow_300', async (shop) => {
      const other = await shop.secondTab();
      await shop.pay.click();
      await other.says('This is your earlier payment');
      expect(await shop.payment()).toBe(await other.payment());
    });
    expect(await executed()).toBe(1);
  });

  test('a reload between the request and its answer finds the payment again', async () => {
    await shopping('pm_slow_1000', async (shop) => {
      await shop.pay.click();
      await atThePsp();
      await shop.reload();
      await shop.says('This is your earlier payment');
      await shop.showsOneCharge();
      expect((await shop.numbers()).pressed).toBe(1);
    });
    expect(await executed()).toBe(1);
  });

  test('a tab that is closed while it pays leaves the rest to the other one', async () => {
    await shopping('pm_slow_1000', async (shop) => {
      const other = await shop.secondTab();
      await shop.pay.click();
      await atThePsp();
      await shop.page.close();
      await other.says('This is your earlier payment');
    });
    expect(await executed()).toBe(1);
  });

  test('offline, nothing is known; online again, it is paid once', async () => {
    await shopping('pm_ok', async (shop) => {
      await shop.offline(true);
      await shop.pay.click();
      await shop.says('Connection lost');
      await shop.says(/cannot charge twice/);
      expect(await executed()).toBe(0);
      await shoot(shop.page, 'offline');
      await shop.offline(false);
      await shop.says('Not received');
      await shop.pay.click();
      await shop.settled();
    });
    expect(await executed()).toBe(1);
  });

  test('a line that breaks while the bank works is waited out', async () => {
    await shopping('pm_slow_500', async (shop) => {
      await shop.pay.click();
      await atThePsp();
      await shop.offline(true);
      await shop.page.getByText('was answered and lost on its way').waitFor();
      await shop.offline(false);
      await shop.says('This is your earlier payment');
    });
    expect(await executed()).toBe(1);
  });

  test('the browser itself offline, and online again', async () => {
    const provoked = /ERR_INTERNET_DISCONNECTED/;
    await shopping(
      'pm_slow_300',
      async (shop) => {
        const context = shop.page.context();
        await context.setOffline(true);
        await shop.pay.click();
        await shop.says('Connection lost');
        await context.setOffline(false);
        await shop.says('Not received');
        await shop.pay.click();
        await shop.settled();
      },
      { provoked },
    );
    expect(await executed()).toBe(1);
  });

  test('an answer lost after the charge is asked for again', async () => {
    await shopping('pm_ok', async (shop) => {
      await shop.loseAnswers('once');
      await shop.pay.click();
      await shop.says('This is your earlier payment');
      await shop.showsOneCharge();
      expect(await shop.numbers()).toEqual({ pressed: 1, sent: 2, charges: 1 });
    });
    expect(await executed()).toBe(1);
  });

  test('if every answer is lost the page says so, and another method has to wait', async () => {
    await shopping('pm_ok', async (shop) => {
      await shop.loseAnswers('always');
      await shop.pay.click();
      await shop.says('Connection lost');
      await shop.showsOneCharge();
      await shop.bank('pm_slow_3000');
      await shop.pay.click();
      await shop.says('An earlier payment is open');
      await shoot(shop.page, 'blocked');
      await shop.loseAnswers('never');
      await shop.button('Settle the earlier one').click();
      await shop.says('This is your earlier payment');
      await shop.pay.click();
      await shop.says('Paid already');
      await shop.button('Show that payment').click();
      await shop.settled();
    });
    expect(await executed()).toBe(1);
  });
});
