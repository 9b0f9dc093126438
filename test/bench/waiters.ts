/** Clients that send one payment each and wait: a process of its own, asked over IPC. */
import { type Answer, Connection, requestPieces } from './connection.ts';
import type { Asking } from './systems.ts';

export type Question =
  | {
      readonly kind: 'send';
      readonly origin: string;
      readonly asking: Asking;
      readonly count: number;
    }
  | { readonly kind: 'await' };

export interface Waited {
  readonly sent: number;
  readonly right: number;
  readonly wrong: number;
  readonly firstWrong: string | null;
}

/** How many connect at once: fewer than a server lets wait to be accepted. */
const AT_ONCE = 200;
const KEY_LENGTH = 20;
let expect = '';
const answers: Promise<Answer>[] = [];

async function send(question: Extract<Question, { kind: 'send' }>): Promise<Waited> {
  const pieces = requestPieces(question.asking, KEY_LENGTH);
  const run = `w${Date.now().toString(36)}-k`;
  expect = question.asking.expect;
  for (let sent = 0; sent < question.count; sent += AT_ONCE) {
    const size = Math.min(AT_ONCE, question.count - sent);
    const opened = await Promise.all(
      Array.from({ length: size }, () => Connection.open(question.origin)),
    );
    for (const connection of opened) {
      const key = `${run}${answers.length.toString(36)}`.padEnd(KEY_LENGTH, '_');
      const answer = connection.ask(pieces.join(key));
      // Looked at when all are asked for; a connection that broke before is a wrong answer then.
      answer.catch(() => {});
      answers.push(answer);
    }
  }
  return { sent: answers.length, right: 0, wrong: 0, firstWrong: null };
}

async function awaitAll(): Promise<Waited> {
  const seen = await Promise.allSettled(answers);
  const texts = seen.map((one) =>
    one.status === 'fulfilled' ? `${one.value.status} ${one.value.text}` : String(one.reason),
  );
  const wrong = texts.filter((text) => !text.includes(expect));
  const firstWrong = wrong[0]?.slice(0, 300) ?? null;
  return {
    sent: texts.length,
    right: texts.length - wrong.length,
    wrong: wrong.length,
    firstWrong,
  };
}

process.on('message', (question: Question) => {
  const answer = question.kind === 'send' ? send(question) : awaitAll();
  answer.then(
    (waited) => process.send?.(waited),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
