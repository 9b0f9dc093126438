import type { ServerResponse } from 'node:http';
import { type Plan, planOf, planOfSource } from './behaviours.ts';
import type { Books, Promised } from './books.ts';
import type { Command } from './command.ts';
import { decide } from './decide.ts';
import { answerError, deliver, type Manner } from './deliver.ts';
import { type Booked, currentAnswer, firstAnswer, type Kind } from './operation.ts';
import type { Scenarios } from './scenarios.ts';
import { runName, type Settings } from './settings.ts';
import type { Webhooks } from './webhooks.ts';

const PREFIXES: Readonly<Record<Kind, string>> = {
  charge: 'ch',
  authorize: 'ch',
  capture: 'cp',
  void: 'vo',
  refund: 're',
  confirm: 'cf',
};
const PLAIN: Manner = { delivery: 'plain', retryAfterMs: 1_000, dripMs: 2_000 };
const OK = planOf('ok') as Plan;

/** Works on orders and look-ups: what is asked to happen, the key, the books, the answer. */
export class Clerk {
  readonly #books: Books;
  readonly #scenarios: Scenarios;
  readonly #webhooks: Webhooks;
  readonly #settings: Settings;
  readonly #working = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #run: string;
  #made: number;
  #era = 0;

  constructor(books: Books, scenarios: Scenarios, webhooks: Webhooks, settings: Settings) {
    this.#books = books;
    this.#scenarios = scenarios;
    this.#webhooks = webhooks;
    this.#settings = settings;
    this.#run = runName(settings.seed);
    this.#made = books.size;
    for (const promised of books.promised()) this.#keep(promised);
    for (const booked of books.unsettled()) this.#settleLater(booked);
  }

  /** Answers one order, unless it is to be left without an answer. Rejects if the disk fails. */
  async work(command: Command, response: ServerResponse): Promise<void> {
    const scenario = this.#scenarios.take(command);
    const plan = scenario ?? (command.source === null ? OK : planOfSource(command.source));
    if (plan === undefined) {
      answerError(response, 400, 'source: there is no such payment method');
      return;
    }
    if (plan.instead !== null && (scenario !== undefined || this.#isEarlyTry(command, plan))) {
      await this.#pause(plan.waitMs);
      deliver(response, '', { ...plan, delivery: plan.instead });
      return;
    }
    if (this.#working.has(command.idempotencyKey)) {
      answerError(response, 409, 'this idempotency key is being worked on');
      return;
    }
    const known = this.#known(command);
    if (known === undefined) {
      await this.#workOnNew(command, plan, response);
    } else if (known.operation.fingerprint !== command.fingerprint) {
      answerError(response, 422, 'this idempotency key came with another request');
    } else {
      deliver(response, firstAnswer(known.operation), scenario ?? PLAIN);
    }
  }

  /** Answers what the books hold of a reference, newest last. */
  async lookUp(reference: string, response: ServerResponse): Promise<void> {
    const scenario = this.#scenarios.take({ kind: 'lookup', reference, source: null });
    await this.#pause(scenario?.waitMs ?? 0);
    if (scenario !== undefined && scenario.instead !== null) {
      deliver(response, '', { ...scenario, delivery: scenario.instead });
      return;
    }
    const visibleUntil = Date.now() - this.#settings.lookupLagMs;
    const data = this.#books
      .byReference(reference)
      .filter(({ operation }) => operation.at <= visibleUntil)
      .map(currentAnswer);
    await this.#books.flushed();
    deliver(response, `{"data":[${data.join(',')}]}`, scenario ?? PLAIN);
  }

  /** Names the ids from now on as the seed says. */
  reseed(): void {
    this.#run = runName(this.#settings.seed);
    this.#made = this.#books.size;
  }

  /** Forgets work that waits: it is neither executed nor answered. */
  stop(): void {
    this.#era += 1;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#working.clear();
    this.#tries.clear();
  }

  async #workOnNew(command: Command, plan: Plan, response: ServerResponse): Promise<void> {
    const era = this.#era;
    if (plan.late) {
      const promised: Promised = { command, dueAt: Date.now() + plan.waitMs };
      this.#working.add(command.idempotencyKey);
      await this.#books.promise(promised);
      if (era === this.#era) this.#keep(promised);
      return;
    }
    this.#working.add(command.idempotencyKey);
    try {
      if (plan.waitMs > 0) await this.#pause(plan.waitMs);
      const booked = await this.#execute(command, plan);
      if (booked === undefined) answerError(response, 404, 'there is no such charge');
      else deliver(response, firstAnswer(booked.operation), plan);
    } finally {
      if (era === this.#era) this.#working.delete(command.idempotencyKey);
    }
  }

  /** Writes the operation down; undefined if the charge it belongs to does not exist. */
  async #execute(command: Command, plan: Plan): Promise<Booked | undefined> {
    const target = command.charge === null ? undefined : this.#books.byId(command.charge);
    const id = this.#nextId(command.kind);
    const { authorizationWindowMs } = this.#settings;
    const decided = decide(command, plan, target, id, Date.now(), authorizationWindowMs);
    if (decided.kind === 'no-such-charge') return undefined;
    const booked = await this.#books.record(decided.operation);
    // A confirmation is no event; that the charge goes on is one.
    this.#webhooks.announce(command.kind === 'confirm' ? (target ?? booked) : booked);
    if (decided.operation.settlesAt !== null) this.#settleLater(booked);
    return booked;
  }

  #known({ idempotencyKey }: Command): Booked | undefined {
    const booked = this.#books.byKey(idempotencyKey);
    if (booked === undefined) return undefined;
    const ageMs = Date.now() - booked.operation.at;
    return ageMs < this.#settings.keyWindowMs ? booked : undefined;
  }

  #isEarlyTry({ idempotencyKey }: Command, plan: Plan): boolean {
    if (plan.insteadTimes === Number.POSITIVE_INFINITY) return true;
    const tries = (this.#tries.get(idempotencyKey) ?? 0) + 1;
    this.#tries.set(idempotencyKey, tries);
    return tries <= plan.insteadTimes;
  }

  #keep({ command, dueAt }: Promised): void {
    this.#working.add(command.idempotencyKey);
    this.#at(dueAt, async () => {
      await this.#execute(command, OK);
      this.#working.delete(command.idempotencyKey);
    });
  }

  #settleLater(booked: Booked): void {
    this.#at(booked.operation.settlesAt ?? 0, async () => {
      await this.#books.settle(booked, Date.now());
      this.#webhooks.announce(booked);
    });
  }

  #at(dueAt: number, run: () => Promise<void>): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        run().catch(() => {});
      },
      Math.max(0, dueAt - Date.now()),
    );
    this.#timers.add(timer);
  }

  #pause(ms: number): Promise<void> | undefined {
    if (ms <= 0) return undefined;
    return new Promise((resolve) => this.#at(Date.now() + ms, async () => resolve()));
  }

  #nextId(kind: Kind): string {
    this.#made += 1;
    return `${PREFIXES[kind]}_${this.#run}${this.#made.toString(36).padStart(7, '0')}`;
  }
}
