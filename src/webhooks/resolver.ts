import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/** All addresses of a host name; rejects if it has none. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

const TIMEOUT = { timeout: 2_000, tries: 2 } as const;

/**
 * Asks the DNS itself, and not the system: the system's look-ups share two threads of the whole
 * process, where a name server that never answers would hold up the way to the PSP.
 *
 * @param servers addresses of name servers; those of the system if left out
 */
export function publicNames(servers?: readonly string[]): Resolve {
  const resolver = new Resolver(TIMEOUT);
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
    const found = [
      ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
      ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (found.length === 0 && v4.status === 'rejected') throw v4.reason;
    return found;
  };
}
