/// <reference types="vite/client" />
import 'graphiql/setup-workers/vite';
import 'graphiql/style.css';
import './playground.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';

const place = document.querySelector('#playground');
if (place === null) throw new Error('The page has no #playground.');
createRoot(place).render(<App apiKey={await demoApiKey()} />);

/** The key of a demo server; others give none away. */
async function demoApiKey(): Promise<string | null> {
  try {
    const response = await fetch('/playground/demo.json');
    const { apiKey } = (await response.json()) as { apiKey?: unknown };
    return typeof apiKey === 'string' ? apiKey : null;
  } catch {
    return null;
  }
}
