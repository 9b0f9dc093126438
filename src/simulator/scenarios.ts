import { z } from 'zod';
import { type Plan, planOfScenario } from './behaviours.ts';
import { KINDS } from './operation.ts';

const LONGEST_MS = 2_147_483_647;

/** `POST /admin/scenario`: what happens to the next `times` requests that match. */
export const scenarioBody = z.object({
  behaviour: z.string().min(1).max(100),
  match: z
    .object({
      reference: z.string().optional(),
      source: z.string().optional(),
      /** `lookup` is `GET /v1/operations`; it is matched only when it is named. */
      kind: z.enum([...KINDS, 'lookup']).optional(),
    })
    .default({}),
  times: z.int().positive().default(1),
  delayMs: z.int().min(0).max(LONGEST_MS).optional(),
});
export type ScenarioBody = z.infer<typeof scenarioBody>;

export interface Subject {
  readonly kind: (typeof KINDS)[number] | 'lookup';
  readonly reference: string;
  readonly source: string | null;
}

interface Scenario {
  readonly plan: Plan;
  readonly match: ScenarioBody['match'];
  left: number;
}

/** The scenarios not used up yet; the oldest one that matches is taken. */
export class Scenarios {
  #waiting: Scenario[] = [];

  /** False if there is no behaviour of that name. */
  add({ behaviour, match, times, delayMs }: ScenarioBody): boolean {
    const plan = planOfScenario(behaviour, delayMs);
    if (plan === undefined) return false;
    this.#waiting.push({ plan, match, left: times });
    return true;
  }

  take(subject: Subject): Plan | undefined {
    if (this.#waiting.length === 0) return undefined;
    const scenario = this.#waiting.find(({ match }) => matches(match, subject));
    if (scenario === undefined) return undefined;
    scenario.left -= 1;
    if (scenario.left === 0) this.#waiting = this.#waiting.filter((other) => other !== scenario);
    return scenario.plan;
  }

  clear(): void {
    this.#waiting = [];
  }
}

function matches(match: ScenarioBody['match'], subject: Subject): boolean {
  if (match.kind === undefined ? subject.kind === 'lookup' : match.kind !== subject.kind) {
    return false;
  }
  if (match.reference !== undefined && match.reference !== subject.reference) return false;
  return match.source === undefined || match.source === subject.source;
}
