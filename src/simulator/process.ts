import { parseArgs } from 'node:util';
import { startSimulator } from './main.ts';

const FLAGS = {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '0' },
  'data-dir': { type: 'string' },
  seed: { type: 'string' },
  'key-window-ms': { type: 'string' },
  'lookup-lag-ms': { type: 'string' },
  'parent-pipe': { type: 'boolean', default: false },
} as const;

/** The simulator as a process of its own: one JSON line with its address once it is ready. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: FLAGS });
  const dataDir = values['data-dir'];
  if (dataDir === undefined) throw new Error('--data-dir is missing');
  const seed = wholeNumber('seed', values.seed);
  const keyWindowMs = wholeNumber('key-window-ms', values['key-window-ms']);
  const lookupLagMs = wholeNumber('lookup-lag-ms', values['lookup-lag-ms']);
  const simulator = await startSimulator({
    host: values.host,
    port: wholeNumber('port', values.port) ?? 0,
    dataDir,
    exitWithParent: values['parent-pipe'],
    ...(seed === undefined ? {} : { seed }),
    ...(keyWindowMs === undefined ? {} : { keyWindowMs }),
    ...(lookupLagMs === undefined ? {} : { lookupLagMs }),
  });
  const stop = (): void => {
    simulator.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.stdout.write(`${JSON.stringify({ url: simulator.url })}\n`);
}

function wholeNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${flag} must be a whole number, not "${text}"`);
  return Number(text);
}

main().catch((error: unknown) => {
  process.stderr.write(`simulator: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
