/** A bug that a run must find: expressions of files, each there exactly once, and what is put in place. */
export interface Control {
  /** N1 to N18 of the planted bugs; others have no number. */
  readonly id: string;
  readonly name: string;
  readonly plants: readonly Plant[];
  /** The promises that it may be found by. */
  readonly breaks: readonly string[];
}

export interface Plant {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const CONCLUDE = 'src/payments/conclude.ts';
const CREATE = 'src/payments/create-payment.ts';
const SEND = 'src/payments/send.ts';
const ORDERS = 'src/payments/orders.ts';
/** The rules of the database, as the model has them; a contract holds the model to Postgres. */
const MODEL = 'test/chaos/simulation/memory-journal.ts';
const MORE = 'test/chaos/simulation/memory-follow-ups.ts';

const OPEN_ENTRY = 'return proceed(deps, await open(deps.journal, command), command, startedAt);';
const UNKNOWN_ANSWER = "case 'unknown':\n      return undecided(open, outcome.reason, waitMs);";
const SETTLE =
  'return ended(await journal.settle(hold, conclusion), true, conclusion.retryAfterMs);';

/** Bugs that the simulation must find: in product code, or in the model where the product has SQL. */
export const MODELLED: readonly Control[] = [
  {
    id: 'N1',
    name: 'the entry is freed when the answer was lost',
    plants: [
      {
        file: CONCLUDE,
        find: UNKNOWN_ANSWER,
        replace: `case 'unknown':
      return { ...NOTHING, state: 'FAILED', source: 'NOT_SENT', reason: outcome.reason };`,
      },
    ],
    breaks: ['P14', 'P5'],
  },
  {
    id: 'N2',
    name: 'the key is the key and the payload',
    plants: [
      {
        file: CREATE,
        find: OPEN_ENTRY,
        replace: `const idempotencyKey = \`\${command.idempotencyKey}-\${command.amountMinor}\`;
  command = { ...command, idempotencyKey };
  ${OPEN_ENTRY}`,
      },
    ],
    breaks: ['P8', 'P1', 'P12'],
  },
  {
    id: 'N3',
    name: 'the entry is released whatever came of it',
    plants: [
      {
        file: SEND,
        find: SETTLE,
        replace: `const freed = { ...conclusion, state: 'FAILED', source: 'NOT_SENT' } as const;
      const { entry } = await journal.settle(hold, freed);
      const { state, source } = conclusion;
      return ended({ ...hold, entry: { ...entry, state, outcomeSource: source } }, true);`,
      },
    ],
    breaks: ['P14', 'P3', 'P5', 'P7'],
  },
  {
    id: 'N5',
    name: 'the entry is written after the PSP was asked',
    plants: [
      {
        file: CREATE,
        find: OPEN_ENTRY,
        replace: `const early = { reference: command.idempotencyKey, pspKey: command.idempotencyKey };
  await deps.psp.charge({ ...early, ...command });
  ${OPEN_ENTRY}`,
      },
    ],
    breaks: ['P2'],
  },
  {
    id: 'N6',
    name: 'a PSP key for each attempt',
    plants: [
      {
        file: ORDERS,
        find: 'pspKey: entry.pspIdempotencyKey,\n    amountMinor: entry.amountMinor,\n    currency: entry.currency,\n    paymentMethod',
        replace:
          'pspKey: entry.pspIdempotencyKey + entry.attempt,\n    amountMinor: entry.amountMinor,\n    currency: entry.currency,\n    paymentMethod',
      },
    ],
    breaks: ['P15', 'P1'],
  },
  {
    id: 'N8',
    name: 'no answer in time means failed',
    plants: [
      {
        file: CONCLUDE,
        find: UNKNOWN_ANSWER,
        replace: `case 'unknown':
      return { ...NOTHING, state: 'FAILED', source, reason: outcome.reason };`,
      },
    ],
    breaks: ['P14', 'P4'],
  },
  {
    id: 'N9',
    name: 'not in the books means failed',
    plants: [
      {
        file: CONCLUDE,
        find: "return stay(doubt, 'not in the books yet', Math.min(settlesInMs, soon(doubt, psp)));",
        replace:
          "return { kind: 'settle', conclusion: { ...NOTHING, state: 'FAILED', source: 'INQUIRY' } };",
      },
    ],
    breaks: ['P14', 'P4', 'P5'],
  },
  {
    id: 'N10',
    name: 'sent again outside the key window',
    plants: [
      {
        file: CONCLUDE,
        find: 'if (doubt.ageMs < psp.keyWindowMs) return',
        replace: 'if (doubt.ageMs >= 0) return',
      },
    ],
    breaks: ['P15'],
  },
  {
    id: 'N11',
    name: 'the answer is kept by the store alone',
    plants: [
      {
        file: SEND,
        find: SETTLE,
        replace: `const { state, source } = conclusion;
      const entry = { ...hold.entry, state, outcomeSource: source };
      return ended({ ...hold, entry }, true, conclusion.retryAfterMs);`,
      },
    ],
    breaks: ['P3', 'P4', 'P7'],
  },
  {
    id: 'model of N7',
    name: 'no fence on the outcome',
    plants: [
      {
        file: MODEL,
        find: 'const ours = row.owner === hold.ownerToken && row.entry.attempt === hold.entry.attempt;',
        replace: 'const ours = true; hold = { ...hold, entry: row.entry };',
      },
    ],
    breaks: ['P13', 'P6', 'P16', 'P3'],
  },
  {
    id: 'model of N13',
    name: 'postings and state in two commits',
    plants: [
      {
        file: MODEL,
        find: 'if (flow !== undefined) row.postings.push(flow);',
        replace: 'if (flow !== undefined) setImmediate(() => row.postings.push(flow));',
      },
    ],
    breaks: ['P16'],
  },
  {
    id: 'model of N15',
    name: 'an event is acted on each time it is told',
    plants: [
      {
        file: MORE,
        find: "if (this.letters.has(letter.eventId)) return 'known';",
        replace: '',
      },
      {
        file: 'src/payments/hear-event.ts',
        find: "if (isKnown) return { result: 'DUPLICATE', entry };",
        replace: '',
      },
    ],
    breaks: ['P7'],
  },
  {
    id: 'payload',
    name: 'another payload gets the answer of the first',
    plants: [
      {
        file: SEND,
        find: 'if (!entry.fingerprint.equals(command.fingerprint.digest)) {',
        replace: 'if (entry.fingerprint.length === 0) {',
      },
    ],
    breaks: ['P8'],
  },
  {
    id: 'reserve',
    name: 'a follow-up reserves nothing',
    plants: [
      {
        file: MORE,
        find: '...reserved(payment, operation, minor), version',
        replace: '...payment, version',
      },
    ],
    breaks: ['P3'],
  },
  {
    id: 'late',
    name: 'what was executed after its refusal is left as it is',
    plants: [
      {
        file: 'src/payments/reverse-late.ts',
        find: 'await deps.reversals.open(limit, deps.psp.name)',
        replace: 'await deps.reversals.open(0, deps.psp.name)',
      },
    ],
    breaks: ['P5', 'P4'],
  },
];
