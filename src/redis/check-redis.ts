import type { RedisConnections } from './connect.ts';

/**
 * What an operator should know about this Redis before relying on it, one sentence each; none is
 * fatal, since the journal decides. Asks INFO only, which managed Redis services allow.
 */
export async function checkRedis({ commands }: RedisConnections): Promise<string[]> {
  let info: Map<string, string>;
  try {
    info = fieldsOf(await commands.info());
  } catch {
    return ['Redis does not answer; the server goes on with the journal alone until it does.'];
  }
  const warnings: string[] = [];
  const version = info.get('redis_version') ?? 'unknown';
  if (!(Number.parseInt(version, 10) >= 7)) {
    warnings.push(`Redis is version ${version}; 7 or newer (or Valkey 7.2) is needed.`);
  }
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push(
      `Redis has maxmemory-policy ${policy}, which may delete locks first; set it to noeviction.`,
    );
  }
  if (info.get('role') === 'slave') {
    warnings.push('Redis is a replica and refuses writes; give the URL of its primary.');
  }
  return warnings;
}

function fieldsOf(info: string): Map<string, string> {
  const lines = info.split(/\r?\n/).filter((line) => /^[a-z]\w*:/.test(line));
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
}
