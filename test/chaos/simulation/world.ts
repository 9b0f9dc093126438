import type { Letter, Outcome } from '../../../src/payments/index.ts';
import { recoverOnce, reverseLate } from '../../../src/payments/index.ts';
import { type Doer, type FaultPlan, Faults, newDoer, ONE_OF_EACH, STORM } from './faults.ts';
import { MemoryFollowUps } from './memory-follow-ups.ts';
import { MemoryJournal } from './memory-journal.ts';
import { MemoryPsp } from './memory-psp.ts';
import { portsOf, type Shared } from './ports.ts';
import { Broken, checkEnd, type Heard, hold, isExplained, isWaiting } from './promises.ts';
import { type Choose, chooseBySeed, Scheduler } from './scheduler.ts';
import { newServer, newStore, type Request, type Server, TIMES } from './server.ts';
import { newWishes, type Wishes } from './wishes.ts';

export interface Setting {
  readonly faults: FaultPlan;
  readonly clients: number;
  readonly asks: number;
  readonly recoverers: number;
  /** True: other payloads, declined cards, short key windows, look-ups that lag, follow-ups, webhooks. */
  readonly varied: boolean;
}

export const STORMY: Setting = {
  faults: STORM,
  clients: 3,
  asks: 4,
  recoverers: 2,
  varied: true,
};

export const SMALL: Setting = {
  faults: ONE_OF_EACH,
  clients: 2,
  asks: 1,
  recoverers: 1,
  varied: false,
};

export interface Verdict {
  readonly broken: Broken | undefined;
  /** What happened, in order; written out when it is asked for. */
  readonly timeline: () => readonly string[];
  readonly hits: ReadonlyMap<string, number>;
  readonly executions: number;
}

const QUIET_MS = 7_200_000;
const MOST_STEPS = 20_000;

/**
 * One run under one chooser, from the first request to the last check.
 *
 * @param isKnown asked before every choice, if states are to be told apart
 */
export async function play(
  choose: Choose,
  setting: Setting,
  isKnown?: (state: string) => boolean,
): Promise<Verdict> {
  // Between runs the process may do what else it has to.
  await new Promise((resolve) => setImmediate(resolve));
  const world = new World(choose, setting, isKnown !== undefined);
  const broken = await world.play(isKnown);
  const { scheduler, faults, psp } = world.shared;
  const executions = psp.executions.length;
  return { broken, timeline: () => scheduler.timeline, hits: faults.hits, executions };
}

export const playSeed = (seed: number, setting: Setting = STORMY) =>
  play(chooseBySeed(seed), setting);

interface Booted extends Server {
  readonly doer: Doer;
}

class World {
  readonly shared: Shared;
  readonly #setting: Setting;
  readonly #wishes: Wishes;
  readonly #shortWindow: boolean;
  readonly #heard: Heard[] = [];
  readonly #servers: Booted[] = [];
  readonly #doers: Doer[] = [];
  #broken: Broken | undefined;
  #clientsLeft = 0;
  /** What the PSP is yet to do or to tell. */
  #owed = 0;
  #quietUntil = Number.POSITIVE_INFINITY;

  constructor(choose: Choose, setting: Setting, traces: boolean) {
    const scheduler = new Scheduler(choose);
    const now = () => scheduler.now();
    this.#setting = setting;
    this.#shortWindow = setting.varied && scheduler.oneIn(4);
    this.#wishes = newWishes(scheduler, setting.varied);
    const lags = setting.varied ? () => scheduler.pick([0, 0, 4_000]) : () => 0;
    const journal = new MemoryJournal({ now, ...TIMES, recoveryLeaseMs: TIMES.leaseMs });
    this.shared = {
      scheduler,
      journal,
      faults: new Faults(scheduler, setting.faults, traces),
      store: newStore(scheduler),
      stored: new Map(),
      more: new MemoryFollowUps(journal),
      psp: new MemoryPsp({
        now,
        forgetsAfterMs: 1_000_000,
        hidesForMs: lags,
        announce: (...news) => this.#announce(...news),
        later: (what, run) => this.#guard(this.#later(what, run)),
      }),
      keyWindowMs: this.#shortWindow ? 60_000 : 900_000,
      settlingMs: 5_000,
    };
  }

  async play(isKnown?: (state: string) => boolean): Promise<Broken | undefined> {
    const { clients, recoverers } = this.#setting;
    const { scheduler, faults, journal, psp } = this.shared;
    for (let index = 0; index < 2; index += 1) this.#boot(index);
    this.#clientsLeft = clients;
    for (let index = 0; index < clients; index += 1) this.#guard(this.#client(index));
    for (let index = 0; index < recoverers; index += 1) this.#guard(this.#recoverer(index));
    let cut = false;
    const seen =
      isKnown &&
      (() => {
        cut = isKnown(this.#describe());
        return cut;
      });
    const over = () => {
      if (this.#broken !== undefined) return true;
      if (this.#clientsLeft > 0) return false;
      if (!faults.healed) {
        faults.healed = true;
        this.#quietUntil = scheduler.now() + QUIET_MS;
      }
      return this.#isSettled() || scheduler.now() > this.#quietUntil;
    };
    const ended = await scheduler.run(over, MOST_STEPS, seen);
    if (cut || this.#broken !== undefined) return this.#broken;
    try {
      hold('P18', ended, `${this.#clientsLeft} clients wait for ever`);
      checkEnd(journal, psp, this.#heard, this.#shortWindow);
    } catch (error) {
      this.#report(error);
    }
    return this.#broken;
  }

  #guard(work: Promise<void>): void {
    work.catch((error: unknown) => this.#report(error));
  }

  #report(error: unknown): void {
    if (!(error instanceof Broken)) throw error;
    this.#broken ??= error;
  }

  #isSettled(): boolean {
    const { journal, psp } = this.shared;
    if (this.#owed > 0) return false;
    for (const { entry } of journal.rows.values()) {
      if (entry.state === 'SENDING') return false;
      const open = entry.state === 'UNKNOWN' || entry.state === 'PENDING';
      const waits = isWaiting(journal, entry) && psp.isWaiting(entry.id);
      if (open && !waits) return false;
    }
    return psp.executions.every((one) => isExplained(journal, psp, one));
  }

  #boot(index: number): void {
    const generation = this.#doers.length;
    const doer = newDoer(`server ${index + 1}.${generation}`);
    this.#doers.push(doer);
    const server = newServer(doer.name, this.shared.scheduler, portsOf(doer, this.shared));
    this.#servers[index] = { doer, ...server };
    doer.onDeath.add(() => this.#boot(index));
  }

  /** Asks for one payment again and again, as a good client does; then for what follows it. */
  async #client(index: number): Promise<void> {
    const { varied, asks } = this.#setting;
    const name = `client ${index + 1}`;
    const first = this.#wishes.payment();
    const paymentId = await this.#insist(name, first, asks);
    if (varied) {
      for (const next of this.#wishes.after(index, first, paymentId)) {
        await this.#insist(name, next, 2);
      }
    }
    this.#clientsLeft -= 1;
  }

  /** @returns the payment that it was told of last */
  async #insist(name: string, request: Request, asks: number): Promise<string | null> {
    const { scheduler } = this.shared;
    const { varied } = this.#setting;
    const { idempotencyKey } = request.asked;
    let paymentId: string | null = null;
    for (let turn = 0; turn < asks; turn += 1) {
      await scheduler.turn(name, 'asks', turn === 0 || !varied ? 0 : scheduler.pick([1, 9_000]));
      const answer = await this.#request(scheduler.pick(this.#servers), request);
      paymentId = answer.paymentId ?? paymentId;
      scheduler.note(name, `${this.#wishes.say(request)} under ${idempotencyKey}: ${answer.text}`);
    }
    return paymentId;
  }

  async #request(server: Booted, request: Request) {
    const { asked } = request;
    const ending = await orBroken(server.doer, server.ask(request));
    if (typeof ending === 'string') return { text: ending, paymentId: null };
    if (ending.kind !== 'answered') return { text: ending.kind, paymentId: null };
    const { answer, how } = ending;
    const fingerprint = asked.fingerprint.digest.toString('hex');
    this.#heard.push({ key: asked.idempotencyKey, fingerprint, answer });
    return { text: `${how} ${answer.decision.kind}`, paymentId: answer.paymentId };
  }

  /** What the PSP decided is told by events: never, once or twice, early or late, in any order. */
  #announce(reference: string, outcome: Outcome, late: boolean): void {
    if (!this.#setting.varied) return;
    const { scheduler } = this.shared;
    const eventId = `event of ${reference}: ${outcome.kind}`;
    const event = { eventId, type: outcome.kind, reference, outcome };
    const digest = Buffer.alloc(0);
    const letter: Letter = { psp: 'model', eventId, type: outcome.kind, digest, event };
    // An execution after its own refusal can be found by its event alone.
    const copies = scheduler.pick(late ? [1, 2] : [0, 0, 1, 2]);
    for (let copy = 1; copy <= copies; copy += 1) this.#guard(this.#deliver(letter, copy));
  }

  async #deliver(letter: Letter, copy: number): Promise<void> {
    const { scheduler } = this.shared;
    const postman = `postman ${copy} with the ${letter.eventId}`;
    this.#owed += 1;
    for (let delivered = false; !delivered; ) {
      const ms = scheduler.pick([0, 1, 5_000, 60_000]);
      await scheduler.turn(postman, 'delivers', ms);
      const server = scheduler.pick(this.#servers);
      const heard = await orBroken(server.doer, server.hear(letter));
      const result = typeof heard === 'string' ? heard : heard.result;
      scheduler.note(postman, result);
      delivered = typeof heard !== 'string' && result !== 'UNKNOWN';
    }
    this.#owed -= 1;
  }

  async #later(what: string, run: () => void): Promise<void> {
    const { scheduler } = this.shared;
    this.#owed += 1;
    await scheduler.turn('psp', what, scheduler.pick([100, 20_000, 100_000]));
    scheduler.note('psp', what);
    run();
    this.#owed -= 1;
  }

  async #recoverer(index: number): Promise<void> {
    const { scheduler } = this.shared;
    for (let life = 1; ; life += 1) {
      const doer = newDoer(`recoverer ${index + 1}.${life}`);
      this.#doers.push(doer);
      const died = new Promise<void>((resolve) => doer.onDeath.add(resolve));
      await Promise.race([died, this.#recover(doer)]);
      await scheduler.turn(`keeper ${index + 1}`, 'starts a recoverer', 1_000);
    }
  }

  async #recover(doer: Doer): Promise<void> {
    const { scheduler } = this.shared;
    const onUnrecorded = (error: unknown): void => {
      if (error instanceof Broken) this.#report(error);
    };
    const deps = { ...portsOf(doer, this.shared), now: () => scheduler.now(), onUnrecorded };
    for (;;) {
      await scheduler.turn(doer.name, 'looks for work', 5_000);
      if (this.#setting.varied) await reverseLate(deps, 10).catch(onUnrecorded);
      await recoverOnce(deps, 10).catch(onUnrecorded);
    }
  }

  /** All that what happens next can depend on. Random tokens are told apart by their first use. */
  #describe(): string {
    const { scheduler, faults, journal, psp, stored } = this.shared;
    const seen = this.#doers.map(({ name, dead, seen }) => `${name} ${dead ? 'dead' : seen}`);
    const parts = [scheduler.now(), this.#clientsLeft, faults.describe(), scheduler.describe()];
    const kept = [
      journal.describe(),
      psp.describe(),
      JSON.stringify([...stored]),
      JSON.stringify(this.#heard),
    ];
    return named([...parts, ...kept, ...seen].join('\n'));
  }
}

/** What a process answers, or what is seen of it if it dies or fails. */
function orBroken<T extends object>(doer: Doer, work: Promise<T>): Promise<T | string> {
  return new Promise((resolve, reject) => {
    const broken = () => resolve('the connection broke');
    doer.onDeath.add(broken);
    work.then(
      (answer) => {
        doer.onDeath.delete(broken);
        resolve(answer);
      },
      (error: unknown) => {
        doer.onDeath.delete(broken);
        if (error instanceof Broken) reject(error);
        else resolve(`${error}`);
      },
    );
  });
}

function named(text: string): string {
  const names = new Map<string, string>();
  return text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (uuid) => {
    const name = names.get(uuid) ?? `#${names.size}`;
    names.set(uuid, name);
    return name;
  });
}
