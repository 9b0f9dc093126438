import type { CallOptions, PayClient } from './client.ts';
import type { AnyOperation, OutcomeOf, VarsOf } from './operation.ts';

/** The hooks of React or of Preact. */
export interface Hooks {
  useState<T>(initial: T): [T, (next: T) => void];
  useEffect(effect: () => (() => void) | undefined, inputs: readonly unknown[]): void;
  useRef<T>(initial: T): { current: T };
}

export interface UseIntentOptions<Vars> {
  /** The business thing that is paid for, such as `cart:<id>:<revision>`. */
  readonly scope: string;
  /** Asked when the buyer submits. */
  readonly vars: () => Vars;
  /** Find out at once what became of an earlier page's request; nothing is sent by that. */
  readonly resumeOnMount?: boolean;
}

export interface IntentAttempt<End> {
  readonly phase: 'idle' | 'working';
  /** Undefined until there is one. */
  readonly outcome: End | undefined;
  /** Does it, or finds out that it was done. A second call while it works changes nothing. */
  readonly submit: () => void;
  /** Asks again about an outcome that is unknown, or settles the earlier request that blocks. */
  readonly resume: () => void;
  /** Back to the form: after a decline the next submit is a new attempt. */
  readonly startOver: () => void;
}

interface State {
  readonly scope: string;
  readonly phase: 'idle' | 'working';
  readonly outcome: unknown;
}

export type UseIntent = <
  Ops extends Readonly<Record<string, AnyOperation>>,
  Name extends keyof Ops & string,
>(
  pay: PayClient<Ops>,
  name: Name,
  options: UseIntentOptions<VarsOf<Ops[Name]>>,
) => IntentAttempt<OutcomeOf<Ops[Name]>>;

/**
 * Makes the hook of a library's hooks. The hook shows one scope: it follows a payment that is
 * processing, sees what other tabs do, and forgets (but does not cancel) what is under way when the
 * component goes.
 */
export function makeUseIntent({ useState, useEffect, useRef }: Hooks): UseIntent {
  return (pay, name, { scope, vars, resumeOnMount = false }) => {
    type End = OutcomeOf<(typeof pay.operations)[typeof name]>;
    const idle: State = { scope, phase: 'idle', outcome: undefined };
    const [shown, show] = useState<State>(idle);
    const scopeNow = useRef<string | undefined>(scope);
    const busy = useRef<object | undefined>(undefined);
    const leaving = useRef(new AbortController());
    const state = shown.scope === scope ? shown : idle;

    /** Shows what `work` ends in, unless the component shows another scope by then. */
    async function carry(work: () => Promise<unknown>): Promise<void> {
      if (busy.current) return;
      const own = {};
      busy.current = own;
      show({ scope, phase: 'working', outcome: undefined });
      let outcome = await Promise.resolve().then(work).catch(misuse);
      while (isProcessing(outcome) && scopeNow.current === scope) {
        if (busy.current === own) show({ scope, phase: 'working', outcome });
        outcome = await outcome.follow(leaving.current.signal);
      }
      if (busy.current !== own) return;
      busy.current = undefined;
      if (scopeNow.current === scope) show({ scope, phase: 'idle', outcome });
    }

    const lookUp = (): Promise<unknown> => pay.resume(name, { scope } as CallOptions);

    useEffect(() => {
      scopeNow.current = scope;
      leaving.current = new AbortController();
      if (resumeOnMount) void carry(lookUp);
      const unwatch = pay.watch(name, { scope }, (now) => {
        if (now?.phase === 'settled' && !busy.current) void carry(lookUp);
      });
      return () => {
        unwatch();
        scopeNow.current = undefined;
        busy.current = undefined;
        leaving.current.abort();
      };
    }, [pay, name, scope]);

    return {
      phase: state.phase,
      outcome: state.outcome as End | undefined,
      submit: () => void carry(() => pay.run(name, vars(), { scope })),
      resume: () => void carry(() => goOn(state.outcome) ?? lookUp()),
      startOver: () => {
        if (!busy.current) show(idle);
      },
    };
  };
}

interface Processing {
  readonly kind: 'processing';
  follow(signal: AbortSignal): Promise<unknown>;
}

function isProcessing(outcome: unknown): outcome is Processing {
  return Object(outcome).kind === 'processing';
}

function goOn(outcome: unknown): Promise<unknown> | undefined {
  const { resume, settleFirst } = Object(outcome);
  return (resume ?? settleFirst)?.();
}

/** What the client throws for: shown, since nobody waits for the promise. */
function misuse(cause: unknown) {
  const problem = { code: 'MISUSE', message: String(cause) };
  return { kind: 'rejected', problem, key: '' } as const;
}
