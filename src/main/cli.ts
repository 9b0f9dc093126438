#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { validate as isUuid } from 'uuid';
import { fileInPackage } from '../graphql/index.ts';
import type { Keys } from '../postgres/administration.ts';
import { SCOPES, type Scope } from '../postgres/index.ts';
import { BadConfiguration, readConfig } from './config.ts';
import { migrationsFolder } from './database.ts';
import { sayError } from './log.ts';
import { recover } from './recover.ts';
import { serve } from './serve.ts';

const program = new Command('semel')
  .description('A GraphQL payments server whose money mutations happen once.')
  .version(
    (JSON.parse(readFileSync(fileInPackage('package.json'), 'utf8')) as { version: string })
      .version,
  )
  .addHelpText(
    'after',
    '\nThe configuration comes from the environment; the README has the table.',
  );

program
  .command('serve')
  .description('serve GraphQL; embeds Postgres, Redis and the PSP simulator where none is named')
  .action(async () => {
    await serve(readConfig(process.env));
    process.exit(0);
  });

program
  .command('migrate')
  .description('bring the database named by DATABASE_URL up to date')
  .action(async () => {
    const { migrate } = await import('../postgres/administration.ts');
    await migrate(databaseUrl(), migrationsFolder());
    print('The database is up to date.');
  });

program
  .command('recover')
  .description(
    'settle what is in doubt, as a process of its own; needs DATABASE_URL, SIMULATOR_URL',
  )
  .option('--once', 'end when nothing is due any more', false)
  .option('--watch', 'say every few seconds what is still open', false)
  .action(async ({ once, watch }: { once: boolean; watch: boolean }) => {
    await recover(readConfig(process.env), { once, watch, say: print });
    process.exit(0);
  });

const keys = program.command('keys').description('API keys of merchants');

keys
  .command('create')
  .description('make a key (and the merchant, if there is none of this name); prints it once')
  .requiredOption('--merchant <name>', 'the merchant it speaks for', words)
  .option('--name <name>', 'a name to tell keys apart', 'default')
  .addOption(
    new Option('--scopes <scopes...>', 'what it may do').choices(SCOPES).default([...SCOPES]),
  )
  .option('--expires <date>', 'the day or moment it ends (ISO 8601)', date)
  .action(async ({ merchant, name, scopes, expires }: CreateOptions) => {
    await withKeys(async (all) => {
      const made = await all.create({ merchant, name, scopes, expiresAt: expires ?? null });
      print(`Key ${made.id} of merchant ${merchant} (${made.merchantId}). It is shown only now:`);
      print(made.key);
    });
  });

keys
  .command('list')
  .description('every key, without its secret')
  .action(async () => {
    await withKeys(async (all) => {
      for (const key of await all.list()) print(line(key));
    });
  });

keys
  .command('revoke')
  .description('end a key; servers refuse it within a second')
  .argument('<id>', 'the id that list shows')
  .action(async (id: string) => {
    await withKeys(async (all) => {
      const revoked = isUuid(id) && (await all.revoke(id));
      if (!revoked) throw new Error(`There is no key ${id} that could be revoked.`);
      print(`Key ${id} is revoked.`);
    });
  });

program
  .command('simulator')
  .description('run the PSP simulator by itself')
  .option('--host <host>', 'where to listen', '127.0.0.1')
  .option('--port <port>', 'where to listen', port, 4_242)
  .option('--data-dir <folder>', 'where its books are kept', '.semel/simulator')
  .action(async ({ host, port: at, dataDir }: { host: string; port: number; dataDir: string }) => {
    const { startSimulator } = await import('../simulator/main.ts');
    const simulator = await startSimulator({ host, port: at, dataDir });
    print(`The PSP simulator listens on ${simulator.url}, its books are in ${dataDir}`);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => void simulator.close().finally(() => process.exit(0)));
    }
  });

interface CreateOptions {
  readonly merchant: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expires?: Date;
}

function line(key: Awaited<ReturnType<Keys['list']>>[number]): string {
  const ended = key.revokedAt ?? key.expiresAt;
  const word = key.revokedAt !== null ? 'revoked' : 'expires';
  const end = ended === null ? 'no end' : `${word} ${ended.toISOString()}`;
  return [key.id, key.merchant, key.name, `${key.prefix}…`, key.scopes.join(','), end].join('  ');
}

function date(text: string): Date {
  const moment = new Date(text);
  if (Number.isNaN(moment.valueOf())) throw new InvalidArgumentError('an ISO 8601 date is needed.');
  if (moment.valueOf() <= Date.now()) throw new InvalidArgumentError('it is over already.');
  return moment;
}

function words(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('it must not be empty.');
  return text;
}

function port(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0 && number <= 65_535) return number;
  throw new InvalidArgumentError('a port from 0 to 65535 is needed.');
}

async function withKeys(use: (all: Keys) => Promise<void>): Promise<void> {
  const administration = await import('../postgres/administration.ts');
  const all = new administration.Keys(databaseUrl());
  try {
    await use(all);
  } finally {
    await all.close();
  }
}

function databaseUrl(): string {
  const { DATABASE_URL } = readConfig(process.env);
  if (DATABASE_URL !== undefined) return DATABASE_URL;
  throw new BadConfiguration([
    'DATABASE_URL is not set; accepted: a URL that begins with postgres://.',
  ]);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`semel: ${sayError(error)}\n`);
  // What was begun must not keep a process alive that cannot do its work.
  process.exit(1);
}
