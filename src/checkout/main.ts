import { part } from './dom.ts';
import { CheckoutPage } from './page.ts';

async function demoApiKey(): Promise<string> {
  const response = await fetch('/checkout/demo.json');
  const { apiKey } = await response.json();
  if (typeof apiKey !== 'string') throw new Error('This server has no demo merchant.');
  return apiKey;
}

try {
  await new CheckoutPage().open(await demoApiKey());
} catch (error) {
  const notice = part('notice', HTMLParagraphElement);
  notice.textContent = `The shop cannot open: ${error instanceof Error ? error.message : error}`;
  notice.hidden = false;
}
