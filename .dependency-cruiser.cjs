/** The rooms: who may import whom. Each room is entered by its front door (index.ts) only. */
const may = {
  idempotency: [],
  payments: [],
  webhooks: [],
  graphql: ['idempotency', 'payments', 'webhooks', 'generated'],
  redis: ['idempotency'],
  postgres: ['payments', 'webhooks'],
  psp: ['payments'],
  workers: ['payments', 'webhooks'],
  http: ['graphql'],
  embedded: [],
  simulator: [],
  client: ['generated/client'],
  checkout: ['client'],
  generated: ['graphql', 'payments', 'webhooks'],
};

const roomRules = Object.entries(may).map(([room, others]) => ({
  name: `room-${room}`,
  comment: `${room} may import ${others.join(', ') || 'no other room'}`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: {
    path: '^src/',
    pathNot: [`^src/${room}/`, ...others.map((other) => `^src/${other}/`)],
  },
}));

module.exports = {
  forbidden: [
    ...roomRules,
    {
      name: 'front-doors-only',
      comment: 'a room is imported by its index.ts',
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: '^src/generated/' },
      to: {
        path: '^src/([^/]+)/',
        pathNot: [
          '^src/$1/',
          '^src/[^/]+/index\\.ts$',
          '^src/generated/',
          '^src/simulator/main\\.ts$',
          '^src/postgres/administration\\.ts$',
          // The client's own doors: package sub-paths, each without the weight of the others.
          '^src/client/(stores/(browser|sql)|testing/index|apollo|urql|react|preact|documents)\\.ts$',
        ],
      },
    },
    {
      name: 'nobody-imports-main',
      severity: 'error',
      from: { pathNot: '^src/main/' },
      to: { path: '^src/main/' },
    },
    {
      name: 'nobody-imports-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^test/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: { pathNot: '^src/generated/' },
      to: { circular: true, viaOnly: { pathNot: '^src/generated/' } },
    },
    {
      name: 'core-knows-no-libraries-of-the-outside',
      comment: 'the engine and the business import nothing that talks to the world',
      severity: 'error',
      from: { path: '^src/(idempotency|payments)/' },
      to: { dependencyTypes: ['npm'], pathNot: 'node_modules/canonicalize/' },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^src/playground/' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js'],
      conditionNames: ['import', 'node'],
    },
  },
};
