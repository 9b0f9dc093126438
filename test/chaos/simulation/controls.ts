/** A bug that the simulation must find: one expression of one file, and what is put in its place. */
export interface Control {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The promises that it may be found by. */
  readonly breaks: readonly string[];
}

const CONCLUDE = 'src/payments/conclude.ts';
/** The rules of the database, as the model has them; a contract holds the model to Postgres. */
const MODEL = 'test/chaos/simulation/memory-journal.ts';

export const CONTROLS: readonly Control[] = [
  {
    name: 'the key is the key and the payload',
    file: MODEL,
    find: "const key = [asked.merchantId, asked.idempotencyKey].join(' ');",
    replace: "const key = [asked.merchantId, asked.idempotencyKey, asked.amountMinor].join(' ');",
    breaks: ['P1', 'P8'],
  },
  {
    name: 'no UNIQUE on the key',
    file: MODEL,
    find: 'this.rows.set(key, row);',
    replace: "this.rows.set(key + ' ' + this.#made, row);",
    breaks: ['P1', 'P7', 'P8'],
  },
  {
    name: 'the entry is freed when the answer was lost',
    file: CONCLUDE,
    find: 'return undecided(open, outcome.reason, checks);\n  }\n}',
    replace:
      "return { ...NOTHING, state: 'FAILED', source: 'NOT_SENT', reason: outcome.reason };\n  }\n}",
    breaks: ['P14', 'P5'],
  },
  {
    name: 'the entry is written after the PSP was asked',
    file: 'src/payments/create-payment.ts',
    find: 'return proceed(deps, await open(deps.journal, command), command, startedAt);',
    replace: `const early = { reference: command.idempotencyKey, pspKey: command.idempotencyKey };
      await deps.psp.charge({ ...early, ...command });
      return proceed(deps, await open(deps.journal, command), command, startedAt);`,
    breaks: ['P2'],
  },
  {
    name: 'a PSP key for each attempt',
    file: 'src/payments/ports.ts',
    find: 'pspKey: entry.pspIdempotencyKey,\n    amountMinor: entry.amountMinor,\n    currency: entry.currency,\n    paymentMethod',
    replace:
      'pspKey: entry.pspIdempotencyKey + entry.attempt,\n    amountMinor: entry.amountMinor,\n    currency: entry.currency,\n    paymentMethod',
    breaks: ['P15', 'P1'],
  },
  {
    name: 'no fence on the outcome',
    file: MODEL,
    find: 'const ours = row.owner === hold.ownerToken && row.entry.attempt === hold.entry.attempt;',
    replace: 'const ours = true; hold = { ...hold, entry: row.entry };',
    breaks: ['P13', 'P6', 'P16'],
  },
  {
    name: 'no answer in time means failed',
    file: CONCLUDE,
    find: 'return undecided(open, outcome.reason, checks);\n  }\n}',
    replace: "return { ...NOTHING, state: 'FAILED', source, reason: outcome.reason };\n  }\n}",
    breaks: ['P14', 'P4'],
  },
  {
    name: 'not in the books means failed',
    file: CONCLUDE,
    find: "return stay(doubt, 'not in the books yet');",
    replace:
      "return { kind: 'settle', conclusion: { ...NOTHING, state: 'FAILED', source: 'INQUIRY' } };",
    breaks: ['P14', 'P4', 'P5'],
  },
  {
    name: 'sent again outside the key window',
    file: CONCLUDE,
    find: 'if (doubt.ageMs < psp.keyWindowMs) return',
    replace: 'if (doubt.ageMs >= 0) return',
    breaks: ['P15'],
  },
  {
    name: 'the answer is kept by the store alone',
    file: 'src/payments/send.ts',
    find: 'return ended(await journal.settle(hold, conclusion), true, conclusion.retryAfterMs);',
    replace: `const { state, source } = conclusion;
      const entry = { ...hold.entry, state, outcomeSource: source };
      return ended({ ...hold, entry }, true, conclusion.retryAfterMs);`,
    breaks: ['P3', 'P7'],
  },
  {
    name: 'postings and state in two commits',
    file: MODEL,
    find: "if (state === 'SUCCEEDED') row.postings.push(row.entry.amountMinor);",
    replace: `if (state === 'SUCCEEDED') {
      setImmediate(() => row.postings.push(row.entry.amountMinor));
    }`,
    breaks: ['P16'],
  },
  {
    name: 'another payload gets the answer of the first',
    file: 'src/payments/send.ts',
    find: 'if (!entry.fingerprint.equals(command.fingerprint.digest)) {',
    replace: 'if (entry.fingerprint.length === 0) {',
    breaks: ['P8'],
  },
];
