import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Step } from './steps.ts';
import { isRefusal } from './store-unavailable.ts';

/** A Lua script and the name under which Redis caches it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** One verb each, on one key each; the contract stands at the top of each file. */
export interface Scripts {
  readonly claim: Script;
  readonly settle: Script;
  readonly release: Script;
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

const beside = (file: string): Script =>
  script(readFileSync(new URL(file, import.meta.url), 'utf8'));

export const SCRIPTS: Scripts = {
  claim: beside('./claim-1.lua'),
  settle: beside('./settle-1.lua'),
  release: beside('./release-1.lua'),
};

/** Runs a script by its name; a Redis that has forgotten the text (NOSCRIPT) is sent it once. */
export function evaluate(
  { sha, text }: Script,
  key: string,
  args: readonly (string | number)[],
): Step<unknown> {
  return async (client, wanted) => {
    try {
      return await client.evalsha(sha, 1, key, ...args);
    } catch (error) {
      const forgotten = isRefusal(error) && error.message.startsWith('NOSCRIPT');
      if (!forgotten || !wanted()) throw error;
      return await client.eval(text, 1, key, ...args);
    }
  };
}
