/**
 * The load generator, a process of its own: a closed loop of `concurrency` callers. It is told one
 * round at a time over IPC and answers with what it saw. It keeps the keys that were paid, by name.
 */
import { type Answer, Connection, requestPieces } from './connection.ts';
import { quantile } from './statistics.ts';

/** One round, as the parent asks for it. In headers and body each `@` stands for the key. */
export interface Round {
  /** Callers are spread over them. */
  readonly origins: readonly string[];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The name that keys are kept under. */
  readonly set: string;
  /** `recent`: the last thousand, by turns. `each`: the last ten thousand, each once. */
  readonly keys: 'new' | 'recent' | 'each';
  readonly concurrency: number;
  /** So many callers at once send the same new key, and the next one when all are answered. */
  readonly duplicates?: number;
  /** The round ends after so many ms, or after so many requests. */
  readonly ms?: number;
  readonly requests?: number;
  /** A text that every right answer contains. */
  readonly expect: string;
  /** A status that is neither right nor wrong. */
  readonly refusal?: number;
}

export interface Seen {
  readonly requests: number;
  readonly ms: number;
  /** Null where the tool that made the load does not tell. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly right: number;
  readonly refused: number;
  /** Answers that were neither, and the first of them. */
  readonly wrong: number;
  readonly firstWrong: string | null;
  /** New keys that got a right answer. */
  readonly keys: number;
}

const RECENT = 1_000;
const EACH = 10_000;
const run = process.pid.toString(36).padStart(5, '0').slice(-5) + Date.now().toString(36);
const sets = new Map<string, string[]>();
let made = 0;
/** No long row of digits, which might be taken for a card number. */
const newKey = () => `${run}-k${(made++).toString(36).padStart(8, '0')}`;

class Player {
  readonly #round: Round;
  readonly #set: string[];
  readonly #pieces: readonly string[];
  readonly #known: readonly string[];
  readonly #times: number[] = [];
  #right = 0;
  #refused = 0;
  #wrong = 0;
  #firstWrong: string | null = null;
  readonly #fresh: string[] = [];
  #sent = 0;
  #endsAt = 0;

  constructor(round: Round) {
    this.#round = round;
    this.#set = sets.get(round.set) ?? [];
    sets.set(round.set, this.#set);
    this.#known = this.#set.slice(round.keys === 'each' ? -EACH : -RECENT);
    this.#pieces = requestPieces(round, newKey().length);
  }

  async play(): Promise<Seen> {
    const { concurrency, duplicates = 1, ms = Number.POSITIVE_INFINITY } = this.#round;
    const connections = await this.#connect(concurrency * duplicates);
    const startedAt = performance.now();
    this.#endsAt = startedAt + ms;
    const callers = Array.from({ length: concurrency }, (_, caller) =>
      this.#call(connections.filter((__, place) => place % concurrency === caller)),
    );
    await Promise.all(callers);
    const tookMs = performance.now() - startedAt;
    for (const connection of connections) connection.close();
    // Not spread into `push`: a round may make more keys than a call takes arguments.
    for (const key of this.#fresh) this.#set.push(key);
    return this.#seen(tookMs);
  }

  /** One caller, or as many as send the same key together. */
  async #call(connections: readonly Connection[]): Promise<void> {
    for (let key = this.#next(); key !== undefined; key = this.#next()) {
      const request = this.#pieces.join(key);
      const sentAt = performance.now();
      const right = await Promise.all(
        connections.map(async (connection) => {
          const answer = await connection.ask(request);
          this.#times.push(performance.now() - sentAt);
          return this.#judge(answer);
        }),
      );
      if (this.#round.keys === 'new' && right.includes(true)) this.#fresh.push(key);
    }
  }

  #next(): string | undefined {
    const { requests = Number.POSITIVE_INFINITY, keys } = this.#round;
    if (performance.now() >= this.#endsAt || this.#sent >= requests) return undefined;
    const turn = this.#sent++;
    if (keys === 'new') return newKey();
    if (keys === 'each') return this.#known[turn];
    return this.#known[turn % this.#known.length];
  }

  #judge({ status, text }: Answer): boolean {
    if (text.includes(this.#round.expect)) {
      this.#right += 1;
      return true;
    }
    if (status === this.#round.refusal) this.#refused += 1;
    else {
      this.#wrong += 1;
      this.#firstWrong ??= `${status} ${text.slice(0, 300)}`;
    }
    return false;
  }

  #connect(count: number): Promise<Connection[]> {
    const { origins } = this.#round;
    return Promise.all(
      Array.from({ length: count }, (_, place) =>
        // Callers of one key stand `concurrency` apart: neighbours of theirs go to other servers.
        Connection.open(
          origins[Math.floor(place / this.#round.concurrency) % origins.length] ?? '',
        ),
      ),
    );
  }

  #seen(ms: number): Seen {
    const times = this.#times.sort((one, other) => one - other);
    return {
      requests: times.length,
      ms,
      p50Ms: quantile(times, 0.5),
      p99Ms: quantile(times, 0.99),
      right: this.#right,
      refused: this.#refused,
      wrong: this.#wrong,
      firstWrong: this.#firstWrong,
      keys: this.#fresh.length,
    };
  }
}

process.on('message', (round: Round) => {
  new Player(round).play().then(
    (seen) => process.send?.(seen),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
