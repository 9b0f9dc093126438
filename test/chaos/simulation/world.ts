import { recoverOnce } from '../../../src/payments/index.ts';
import { type Doer, type FaultPlan, Faults, newDoer, ONE_OF_EACH, STORM } from './faults.ts';
import { MemoryJournal } from './memory-journal.ts';
import { MemoryPsp } from './memory-psp.ts';
import { portsOf, type Shared } from './ports.ts';
import { Broken, checkEnd, type Heard, hold } from './promises.ts';
import { type Choose, chooseBySeed, Scheduler } from './scheduler.ts';
import { newServer, newStore, order, TIMES } from './server.ts';

export interface Setting {
  readonly faults: FaultPlan;
  readonly clients: number;
  readonly asks: number;
  readonly recoverers: number;
  /** True: other payloads, declined cards, short key windows, look-ups that lag. */
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
  readonly timeline: readonly string[];
  readonly hits: ReadonlyMap<string, number>;
  readonly executions: number;
}

const QUIET_MS = 7_200_000;
const MOST_STEPS = 20_000;

/** One run under one chooser, from the first request to the last check. */
export async function play(
  choose: Choose,
  setting: Setting,
  isKnown: (state: string) => boolean = () => false,
): Promise<Verdict> {
  const world = new World(choose, setting);
  const broken = await world.play(isKnown);
  const { scheduler, faults, psp } = world.shared;
  const executions = psp.executions.length;
  return { broken, timeline: scheduler.timeline, hits: faults.hits, executions };
}

export const playSeed = (seed: number) => play(chooseBySeed(seed), STORMY);

interface Server {
  readonly doer: Doer;
  readonly ask: ReturnType<typeof newServer>;
}

class World {
  readonly shared: Shared;
  readonly #setting: Setting;
  readonly #shortWindow: boolean;
  readonly #heard: Heard[] = [];
  readonly #servers: Server[] = [];
  readonly #doers: Doer[] = [];
  #broken: Broken | undefined;
  #clientsLeft = 0;
  #quietUntil = Number.POSITIVE_INFINITY;

  constructor(choose: Choose, setting: Setting) {
    const scheduler = new Scheduler(choose);
    const now = () => scheduler.now();
    this.#setting = setting;
    this.#shortWindow = setting.varied && scheduler.oneIn(4);
    const lags = setting.varied ? () => scheduler.pick([0, 0, 4_000]) : () => 0;
    this.shared = {
      scheduler,
      faults: new Faults(scheduler, setting.faults),
      store: newStore(scheduler),
      stored: new Map(),
      journal: new MemoryJournal({ now, ...TIMES, recoveryLeaseMs: TIMES.leaseMs }),
      psp: new MemoryPsp({ now, forgetsAfterMs: 1_000_000, hidesForMs: lags }),
      keyWindowMs: this.#shortWindow ? 60_000 : 900_000,
      settlingMs: 5_000,
    };
  }

  async play(isKnown: (state: string) => boolean): Promise<Broken | undefined> {
    const { clients, recoverers } = this.#setting;
    const { scheduler, faults, journal, psp } = this.shared;
    const guard = (work: Promise<void>): void => {
      work.catch((error: unknown) => this.#report(error));
    };
    for (let index = 0; index < 2; index += 1) this.#boot(index);
    this.#clientsLeft = clients;
    for (let index = 0; index < clients; index += 1) guard(this.#client(index));
    for (let index = 0; index < recoverers; index += 1) guard(this.#recoverer(index));
    let cut = false;
    const seen = () => {
      cut = isKnown(this.#describe());
      return cut;
    };
    const over = () => {
      if (this.#broken !== undefined) return true;
      if (this.#clientsLeft === 0 && !faults.healed) {
        faults.healed = true;
        this.#quietUntil = scheduler.now() + QUIET_MS;
      }
      return faults.healed && (this.#isSettled() || scheduler.now() > this.#quietUntil);
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

  #report(error: unknown): void {
    if (!(error instanceof Broken)) throw error;
    this.#broken ??= error;
  }

  #isSettled(): boolean {
    const open = ['SENDING', 'UNKNOWN', 'PENDING'];
    return [...this.shared.journal.rows.values()].every(({ entry }) => !open.includes(entry.state));
  }

  #boot(index: number): void {
    const generation = this.#doers.length;
    const doer = newDoer(`server ${index + 1}.${generation}`);
    this.#doers.push(doer);
    const ask = newServer(doer.name, this.shared.scheduler, portsOf(doer, this.shared));
    this.#servers[index] = { doer, ask };
    doer.onDeath.add(() => this.#boot(index));
  }

  /** Asks for one payment again and again, as a good client does, until it has its answer. */
  async #client(index: number): Promise<void> {
    const { scheduler } = this.shared;
    const { varied, asks } = this.#setting;
    const name = `client ${index + 1}`;
    const key = varied && scheduler.oneIn(3) ? 'other-key' : 'key';
    const other = varied && scheduler.oneIn(6);
    const method = varied && key === 'other-key' ? 'pm_declined' : 'pm_ok';
    const asked = order(key, other ? 2_000 : 1_050, method);
    for (let turn = 0; turn < asks; turn += 1) {
      await scheduler.turn(name, 'asks', turn === 0 || !varied ? 0 : scheduler.pick([1, 9_000]));
      const answer = await this.#request(scheduler.pick(this.#servers), asked);
      scheduler.note(name, `${key} ${asked.amountMinor}: ${JSON.stringify(answer)}`);
    }
    this.#clientsLeft -= 1;
  }

  #request({ doer, ask }: Server, asked: ReturnType<typeof order>) {
    return new Promise<string>((resolve, reject) => {
      const broken = () => resolve('the connection broke');
      doer.onDeath.add(broken);
      ask(asked).then(
        (ending) => {
          doer.onDeath.delete(broken);
          if (ending.kind === 'answered') {
            const fingerprint = asked.fingerprint.digest.toString('hex');
            const { answer } = ending;
            this.#heard.push({ key: asked.idempotencyKey, fingerprint, answer });
            resolve(`${ending.how} ${answer.decision.kind}`);
          } else resolve(ending.kind);
        },
        (error: unknown) => {
          if (error instanceof Broken) reject(error);
          else resolve(`${error}`);
        },
      );
    });
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
    const { journal, psp } = portsOf(doer, this.shared);
    const onUnrecorded = (error: unknown): void => {
      if (error instanceof Broken) this.#report(error);
    };
    const deps = { journal, psp, now: () => scheduler.now(), onUnrecorded };
    for (;;) {
      await scheduler.turn(doer.name, 'looks for work', 5_000);
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

function named(text: string): string {
  const names = new Map<string, string>();
  return text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (uuid) => {
    const name = names.get(uuid) ?? `#${names.size}`;
    names.set(uuid, name);
    return name;
  });
}
