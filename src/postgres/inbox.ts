import { validate as isUuid } from 'uuid';
import {
  type Inbox,
  type Kept,
  type Letter,
  type Reaction,
  resultOf,
  type Target,
} from '../payments/index.ts';
import type { Database, Row } from './connect.ts';
import { uuidV7 } from './ids.ts';
import { FIND, KEEP, KEEP_AND_NOTE, KEEP_AND_SETTLE } from './inbox-statements.ts';
import { toRecorded } from './rows.ts';
import { settleRow } from './settle-rows.ts';
import { StatementRefused } from './statement-refused.ts';

/** As much of a text of somebody else's making as is kept. */
const MOST_CHARACTERS = 255;
const EVENT_ID = 'inbound_webhooks_psp_event_id_pk';

/** Heard events in Postgres: each one statement, and so one commit with what it does. */
export class PostgresInbox implements Inbox {
  readonly #database: Database;
  readonly #budgetMs: number;

  /** @param budgetMs how long a PSP may wait for each statement */
  constructor(database: Database, budgetMs: number) {
    this.#database = database;
    this.#budgetMs = budgetMs;
  }

  async find({ psp, eventId, event }: Letter): ReturnType<Inbox['find']> {
    const reference = isUuid(event?.reference) ? event?.reference : null;
    const outcome = event?.outcome;
    const pspReference = outcome?.kind === 'succeeded' ? outcome.pspReference : null;
    const parameters = [psp, eventId, reference, event?.operation ?? null, pspReference];
    const [row = {}] = await this.#database.run(FIND, parameters, this.#budgetMs);
    const isKnown = row['is_known'] === true;
    if (row['entry_id'] == null) return { isKnown };
    const hold = { ...toRecorded(row), ownerToken: row['owner_token'] as string };
    return { isKnown, target: { hold, isTaken: row['is_taken'] === true } };
  }

  async keep(
    letter: Letter,
    to?: { target: Target; reaction: Reaction },
  ): ReturnType<Inbox['keep']> {
    const result = to === undefined ? nobodys(letter) : resultOf(to.reaction);
    const row = JSON.stringify(letterRow(letter, result));
    try {
      if (to === undefined) {
        await this.#database.run(KEEP, [row], this.#budgetMs);
        return 'kept';
      }
      const { text, told } = statementFor(letter, to.target, to.reaction);
      const rows = await this.#database.run(text, [told, row], this.#budgetMs);
      return rows.length > 0 ? 'kept' : 'moved on';
    } catch (error) {
      // Also after a lost reply: then the first run of the statement has kept it.
      if (error instanceof StatementRefused && error.constraint === EVENT_ID) return 'known';
      throw error;
    }
  }
}

function nobodys({ event }: Letter): Kept {
  return event === null ? 'IGNORED' : 'NOT_OURS';
}

function letterRow({ psp, eventId, type, digest, event }: Letter, result: Kept): Row {
  return {
    psp,
    event_id: eventId,
    type: short(type),
    reference: event === null ? null : short(event.reference),
    payload_digest: `\\x${digest.toString('hex')}`,
    result,
  };
}

/** Without what Postgres cannot keep in a text, and what confuses a terminal. */
function short(text: string): string {
  return text.replace(/\p{Cc}/gu, '').slice(0, MOST_CHARACTERS);
}

function statementFor(
  { event }: Letter,
  { hold }: Target,
  reaction: Reaction,
): { text: string; told: string } {
  if (reaction.kind === 'settle') {
    const { conclusion } = reaction;
    return { text: KEEP_AND_SETTLE, told: JSON.stringify([settleRow({ hold, conclusion })]) };
  }
  const said = 'said' in reaction ? reaction.said : undefined;
  const told = {
    merchant_id: hold.entry.merchantId,
    entry_id: hold.entry.id,
    from_state: hold.entry.state,
    state: said?.state ?? null,
    psp_reference: said?.pspReference ?? null,
    reason: said?.reason ?? null,
    observation_id: uuidV7(),
    is_hurried: reaction.kind === 'hurry',
    is_lapsed: reaction.kind === 'hurry' && event?.operation === 'VOID',
  };
  return { text: KEEP_AND_NOTE, told: JSON.stringify(told) };
}
