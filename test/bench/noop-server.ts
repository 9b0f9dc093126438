/**
 * What to compare with: `echo` is a bare `node:http` server that sends back what it got, `noop` our own
 * HTTP and GraphQL layers with a mutation that does nothing. Prints its address as one JSON line.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { GraphQLServer, type Services, Subscriptions } from '../../src/graphql/index.ts';
import {
  GraphQLEndpoint,
  HttpServer,
  Limits,
  Metrics,
  Pages,
  StreamEndpoint,
  Streams,
  TrustedDocuments,
  WebhookEndpoint,
} from '../../src/http/index.ts';

const typeDefs = `
  input NoopInput { amountMinor: Int! currency: String! }
  type Noop { id: ID! }
  type Query { noop: Noop }
  type Mutation { noop(id: ID!, input: NoopInput!): Noop! }`;

const say = (port: number) =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);

async function serveNoop(): Promise<void> {
  const schema = makeExecutableSchema({
    typeDefs,
    resolvers: { Mutation: { noop: (_source, { id }: { id: string }) => ({ id }) } },
  });
  const options = {
    schema,
    introspection: false,
    hideSuggestions: true,
    onInternalError: () => {},
    onRefused: () => {},
  };
  const graphql = new GraphQLServer(options);
  await graphql.start();
  const caller = {
    merchantId: 'bench',
    keyId: 'bench',
    scopes: new Set(['payments:read', 'payments:write']),
  };
  // The resolver above asks for none of them.
  const services = {} as Services;
  const streams = new Streams({ most: 1, mostOfMerchant: 1, isValid: async () => true });
  const http = new HttpServer({
    streams,
    endpoint: new GraphQLEndpoint({
      graphql,
      services,
      streams: new StreamEndpoint({
        subscriptions: new Subscriptions(options),
        services,
        streams,
        onSent: () => {},
        onBroken: () => {},
      }),
      documents: new TrustedDocuments('off', {}),
      limits: new Limits({ perKeyPerSecond: 0 }),
      identify: async () => caller,
      onRefused: () => {},
    }),
    webhooks: new WebhookEndpoint({ psp: 'none', take: undefined, onRefused: () => {} }),
    metrics: new Metrics(async () => ({ byState: {}, oldestUnknownS: 0 })),
    pages: new Pages({ playground: undefined, demoApiKey: undefined }),
    whyNotReady: async () => undefined,
    onError: () => {},
  });
  const { port } = await http.listen('127.0.0.1', 0);
  say(port);
}

function serveEcho(): void {
  const echo = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(text);
    });
  }).listen(0, '127.0.0.1', () => say((echo.address() as AddressInfo).port));
}

if (process.argv[2] === 'echo') serveEcho();
else await serveNoop();
