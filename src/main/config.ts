import { z } from 'zod';
import { TRUST_MODES } from '../http/index.ts';
import { isRedisUrl } from '../redis/index.ts';
import { pspVariables } from './psp-variables.ts';
import { count, milliseconds, onOff, seconds, url } from './variable.ts';
import { webhookVariables } from './webhook-variables.ts';

/** What the environment says, checked. Times are in ms unless the name says otherwise. */
export type Config = Readonly<z.output<typeof variables>> & { readonly lockTtlMs: number };

/** A send needs this much of the lease beyond the PSP time-out, and T1 some time before it. */
const LEAST_SPARE_MS = 1_500;
const MOST_JOIN_WAIT_MS = 10_000;
const MOST_NEAR_ANSWERS_MS = 10_000;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Every variable, its default, and (as its description) what is accepted. */
export const variables = z.object({
  NODE_ENV: z
    .enum(['development', 'test', 'production'])
    .default('development')
    .describe('development, test or production'),
  HOST: z.string().min(1).default('127.0.0.1').describe('a host name or address to listen on'),
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('a port from 0 (any free one) to 65535'),
  DATABASE_URL: url('postgres', 'postgresql'),
  DATABASE_POOL_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(8)
    .describe('a number of connections from 1 to 1000'),
  REDIS_URL: z
    .string()
    .refine(isRedisUrl)
    .optional()
    .describe(
      'redis://host:port, rediss:// (TLS), unix:///path, redis-sentinel://host:port,host:port/name or redis-cluster://host:port,host:port',
    ),
  ...pspVariables,
  PSP_TIMEOUT_MS: milliseconds(15_000),
  PSP_ASK_AGAIN_MS: milliseconds(60_000),
  CLOCK_DRIFT_MS: milliseconds(2_000, 0),
  LOCK_GRACE_MS: milliseconds(5_000, 0),
  ANSWER_TTL_S: seconds(86_400, 1),
  RECOVER_AFTER_MS: milliseconds(30_000),
  JOIN_WAIT_MS: milliseconds(5_000, 0, MOST_JOIN_WAIT_MS),
  NEAR_ANSWERS_MS: milliseconds(2_000, 0, MOST_NEAR_ANSWERS_MS),
  DRAIN_MS: milliseconds(20_000, 0),
  RATE_LIMIT_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe('requests a second for one API key in one process, 0 for no limit'),
  MAX_SUBSCRIPTIONS: count(1_000).describe('streams that one process holds open, from 1 to 100000'),
  MAX_SUBSCRIPTIONS_PER_MERCHANT: count(100).describe(
    'streams that one process holds open for one merchant, from 1 to 100000',
  ),
  ...webhookVariables,
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info').describe(LOG_LEVELS.join(', ')),
  INTROSPECTION: onOff,
  PLAYGROUND: onOff,
  TRUSTED_DOCUMENTS: z.enum(TRUST_MODES).default('off').describe(TRUST_MODES.join(', ')),
  TRUSTED_DOCUMENTS_FILE: z
    .string()
    .min(1)
    .default('persisted-documents.json')
    .describe('a JSON file of ids and documents'),
  DATA_DIR: z.string().min(1).default('.semel').describe('a folder'),
  DEMO_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{8,200}$/)
    .optional()
    .describe('8 to 200 visible ASCII characters'),
});

/** Variables whose value must not be repeated to anybody. */
const SECRET = new Set([
  'DATABASE_URL',
  'REDIS_URL',
  'DEMO_API_KEY',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'SIMULATOR_WEBHOOK_SECRET',
  'WEBHOOK_SECRET_KEY',
]);

/** Everything that is wrong with the environment, one problem a line. */
export class BadConfiguration extends Error {
  override readonly name = 'BadConfiguration';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws BadConfiguration with all problems at once: name, what was given, what is accepted */
export function readConfig(environment: Environment): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, text]) => text !== undefined && text !== ''),
  );
  const bad = badNames(given);
  // The others are checked against each other all the same: a second start must not find more.
  const good = Object.fromEntries(Object.entries(given).filter(([name]) => !bad.includes(name)));
  const config = withLock(variables.parse(good));
  const problems = [
    ...bad.map((name) => problemOf(name, given[name])),
    ...[...timeProblems(config), ...pspProblems(config), ...productionProblems(config)].filter(
      (problem) => !bad.some((name) => new RegExp(`\\b${name}\\b`).test(problem)),
    ),
  ];
  if (problems.length > 0) throw new BadConfiguration(problems);
  return config;
}

function badNames(given: Environment): readonly string[] {
  const issues = variables.safeParse(given).error?.issues ?? [];
  return [...new Set(issues.map(({ path }) => String(path[0])))];
}

function withLock(parsed: z.output<typeof variables>): Config {
  const { PSP_TIMEOUT_MS, CLOCK_DRIFT_MS, LOCK_GRACE_MS } = parsed;
  return { ...parsed, lockTtlMs: PSP_TIMEOUT_MS + CLOCK_DRIFT_MS + LOCK_GRACE_MS };
}

function problemOf(name: string, given: string | undefined): string {
  const accepted = variables.shape[name as keyof typeof variables.shape].description;
  // A URL of any variable may carry a password before its host.
  const isSecret = SECRET.has(name) || given?.includes('@');
  const shown = isSecret ? 'something else' : JSON.stringify(given);
  return `${name} is ${shown}; accepted: ${accepted}.`;
}

/** The order of the lease times (pspTimeout < lockTtl < recoverAfter < answerTtl), with the numbers. */
function timeProblems(config: Config): string[] {
  const { PSP_TIMEOUT_MS, CLOCK_DRIFT_MS, LOCK_GRACE_MS, RECOVER_AFTER_MS, lockTtlMs } = config;
  const problems: string[] = [];
  const lock = `PSP_TIMEOUT_MS ${PSP_TIMEOUT_MS} + CLOCK_DRIFT_MS ${CLOCK_DRIFT_MS} + LOCK_GRACE_MS ${LOCK_GRACE_MS} = ${lockTtlMs}`;
  if (CLOCK_DRIFT_MS + LOCK_GRACE_MS < LEAST_SPARE_MS) {
    problems.push(
      `CLOCK_DRIFT_MS + LOCK_GRACE_MS is ${CLOCK_DRIFT_MS + LOCK_GRACE_MS}; accepted: at least ${LEAST_SPARE_MS}, or no send would ever start.`,
    );
  }
  if (RECOVER_AFTER_MS <= lockTtlMs) {
    problems.push(
      `RECOVER_AFTER_MS is ${RECOVER_AFTER_MS}; accepted: more than the lock's lifetime (${lock}).`,
    );
  }
  if (config.ANSWER_TTL_S * 1_000 <= RECOVER_AFTER_MS) {
    problems.push(
      `ANSWER_TTL_S is ${config.ANSWER_TTL_S}; accepted: more than RECOVER_AFTER_MS (${RECOVER_AFTER_MS} ms).`,
    );
  }
  if (config.DRAIN_MS <= PSP_TIMEOUT_MS) {
    problems.push(
      `DRAIN_MS is ${config.DRAIN_MS}; accepted: more than PSP_TIMEOUT_MS (${PSP_TIMEOUT_MS}).`,
    );
  }
  return problems;
}

function pspProblems({ PSP, STRIPE_SECRET_KEY }: Config): string[] {
  if (PSP !== 'stripe' || STRIPE_SECRET_KEY !== undefined) return [];
  const accepted = variables.shape.STRIPE_SECRET_KEY.description;
  return [`STRIPE_SECRET_KEY is not set; accepted with PSP=stripe: ${accepted}.`];
}

function productionProblems(config: Config): string[] {
  if (config.NODE_ENV !== 'production') return [];
  const problems: string[] = [];
  if (config.DEMO_API_KEY !== undefined) {
    problems.push('DEMO_API_KEY is set; accepted with NODE_ENV=production: not to set it.');
  }
  const needed = ['DATABASE_URL', ...(config.PSP === 'simulator' ? ['SIMULATOR_URL'] : [])];
  for (const name of needed as ('DATABASE_URL' | 'SIMULATOR_URL')[]) {
    if (config[name] === undefined) {
      problems.push(
        `${name} is not set; accepted with NODE_ENV=production: ${variables.shape[name].description}.`,
      );
    }
  }
  return problems;
}
