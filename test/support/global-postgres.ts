import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../src/embedded/index.ts';
import { makeTempDir } from './temp-dir.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The URL of an administrator of the server that all tests of the run share. */
    postgresUrl: string;
  }
}

/** One server for the whole run; `createDatabase` gives every test file a database of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['SEMEL_TEST_DATABASE_URL'];
  if (given) {
    project.provide('postgresUrl', given);
    return async () => {};
  }
  const folder = await makeTempDir();
  const server = await startPostgres({ dataDir: join(folder.path, 'postgres'), durable: false });
  project.provide('postgresUrl', server.url);
  return async () => {
    await server.stop();
    await folder.remove();
  };
}
