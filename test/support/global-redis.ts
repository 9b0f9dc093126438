import { spawnSync } from 'node:child_process';

const SERVERS = ['redis-server', 'valkey-server'] as const;
const INSTALL = 'apt-get install -y redis-server';

/** The tests need a real Redis: where it is missing and can be installed, it is; else nothing runs. */
export default function setup(): void {
  if (SERVERS.some(isThere)) return;
  if (process.getuid?.() === 0 && isThere('apt-get')) {
    process.stdout.write(`Redis is missing; running: ${INSTALL}\n`);
    const steps =
      'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq redis-server';
    spawnSync('sh', ['-c', steps], { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  if (!SERVERS.some(isThere)) throw new Error(`The tests need a Redis server. Run: ${INSTALL}`);
}

function isThere(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0;
}
