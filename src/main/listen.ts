import type { HttpServer } from '../http/index.ts';
import type { Config } from './config.ts';

const USUAL_PORT = 4_000;

/** Without PORT the usual port is taken, or else any that is free. @returns the address as a URL */
export async function listen(http: HttpServer, { HOST, PORT }: Config): Promise<string> {
  const on = (port: number) =>
    http.listen(HOST, port).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      return undefined;
    });
  const address = (await on(PORT ?? USUAL_PORT)) ?? (PORT === undefined ? await on(0) : undefined);
  if (address === undefined) {
    throw new Error(`PORT is ${PORT}, and another process listens there; accepted: a free port.`);
  }
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}
