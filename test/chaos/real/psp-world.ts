import { join } from 'node:path';
import { freePort } from '../../support/with-redis.ts';
import {
  type Execution,
  type ReceivedRequest,
  type Scenario,
  type SimulatorSettings,
  startTestSimulator,
  type TestSimulator,
} from '../../support/with-simulator.ts';

/** What a PSP offers against doubt: how it behaves, and what its adapter is told of it. */
export interface Profile {
  readonly keyWindowMs: number;
  readonly lookupLagMs: number;
  readonly adapter: Readonly<Record<string, string>>;
  /** True: what was not executed while keys were remembered needs a person in the end. */
  readonly mayNeedReview: boolean;
}

const DAY_MS = 86_400_000;

const profile = (
  keyWindowMs: number,
  lookupLagMs: number,
  [statedMs, settlingMs, lookup]: readonly [number, number, string],
  mayNeedReview = false,
): Profile => ({
  keyWindowMs,
  lookupLagMs,
  adapter: {
    SIMULATOR_KEY_WINDOW_MS: String(statedMs),
    SIMULATOR_SETTLING_MS: String(settlingMs),
    SIMULATOR_LOOKUP: lookup,
  },
  mayNeedReview,
});

export const PROFILES = {
  /** Keys and a look-up. */
  keyed: profile(DAY_MS, 0, [DAY_MS, 3_000, 'lagging']),
  /** Every request is executed, whatever its key; what the look-up does not show never was. */
  'lookup-only': profile(0, 0, [0, 8_000, 'final']),
  'keyed-no-lookup': profile(DAY_MS, DAY_MS, [DAY_MS, 2_000, 'none']),
  'laggy-lookup': profile(DAY_MS, 2_500, [DAY_MS, 4_000, 'lagging']),
  /** A key is forgotten after seconds: what was not executed by then needs a person. */
  forgetful: profile(16_000, 0, [6_000, 3_000, 'lagging'], true),
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof PROFILES;
export const PROFILE_NAMES = Object.keys(PROFILES) as readonly ProfileName[];

type Webhook = NonNullable<SimulatorSettings['webhook']>;

/** The PSP of a run: a process that can die and come back with its books. */
export class PspWorld {
  readonly url: string;
  readonly profile: Profile;
  readonly #start: () => Promise<TestSimulator>;
  readonly #usual: Webhook;
  #process: TestSimulator;
  #webhook: Webhook;

  private constructor(
    start: () => Promise<TestSimulator>,
    first: TestSimulator,
    told: Profile,
    usual: Webhook,
  ) {
    this.#start = start;
    this.#process = first;
    this.url = first.url;
    this.profile = told;
    this.#usual = usual;
    this.#webhook = usual;
  }

  static async open(
    options: { readonly seed: number; readonly folder: string; readonly profile: Profile },
    webhook: Webhook,
  ): Promise<PspWorld> {
    const { seed, folder } = options;
    const { keyWindowMs, lookupLagMs } = options.profile;
    const dataDir = join(folder, 'psp');
    const port = await freePort();
    const start = () => startTestSimulator({ dataDir, port, seed, keyWindowMs, lookupLagMs });
    const psp = new PspWorld(start, await start(), options.profile, webhook);
    await psp.webhooks({});
    return psp;
  }

  scenario(body: Scenario): Promise<void> {
    return this.#process.scenario(body);
  }

  /** How webhooks come from now on; what is left out is as usual. */
  async webhooks(changes: Partial<Webhook>): Promise<void> {
    this.#webhook = { ...this.#usual, ...changes };
    await this.#process.settings({ webhook: this.#webhook });
  }

  async lookupLag(ms: number): Promise<void> {
    await this.#process.settings({ lookupLagMs: Math.max(ms, this.profile.lookupLagMs) });
  }

  /** SIGKILL. The books stay. */
  kill(): Promise<void> {
    return this.#process.kill();
  }

  /** After `kill`, at the same address; webhooks that waited are forgotten. */
  async restart(): Promise<void> {
    this.#process = await this.#start();
    await this.webhooks(this.#webhook);
  }

  executions(): Promise<readonly Execution[]> {
    return this.#process.executions();
  }

  requests(): Promise<readonly ReceivedRequest[]> {
    return this.#process.requests();
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
