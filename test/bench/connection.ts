import { connect, type Socket } from 'node:net';

/** What a server answered: the status and everything after the head, byte for byte. */
export type Answer = { readonly status: number; readonly text: string };

/**
 * One kept-alive HTTP/1.1 connection that carries one request at a time. A whole HTTP client costs
 * more CPU than some of the servers it is to measure, and would hide how they differ.
 */
export class Connection {
  readonly #socket: Socket;
  #text = '';
  #answered: ((answer: Answer) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).setEncoding('latin1');
    const broken = (error: Error) => this.#failed?.(error);
    socket.on('error', broken);
    socket.on('close', () => broken(new Error('The server closed the connection.')));
    socket.on('data', (chunk: string) => this.#read(chunk));
  }

  static open(origin: string): Promise<Connection> {
    const { hostname, port } = new URL(origin);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  /** @param request the whole request, ASCII only */
  ask(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#failed = undefined;
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    this.#text += chunk;
    const answer = readAnswer(this.#text);
    if (answer === undefined) return;
    this.#text = '';
    this.#failed = undefined;
    this.#answered?.(answer);
  }
}

/** The answer if all of it has come: by its length, or in chunks (left as they came). */
export function readAnswer(text: string): Answer | undefined {
  const headEnds = text.indexOf('\r\n\r\n');
  if (headEnds < 0) return undefined;
  const head = text.slice(0, headEnds);
  const body = text.slice(headEnds + 4);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const isWhole =
    length === undefined
      ? /\r\ntransfer-encoding: *chunked/i.test(head) && /(^|\r\n)0\r\n\r\n$/.test(body)
      : body.length >= Number(length);
  return isWhole ? { status: Number(head.slice(9, 12)), text: body } : undefined;
}

/** A POST as text in pieces, between which the key goes; every `@` stands for it. */
export function requestPieces(
  {
    path,
    headers,
    body,
  }: { path: string; headers: Readonly<Record<string, string>>; body: string },
  keyLength: number,
): readonly string[] {
  const bodyPieces = body.split('@');
  const length = body.length + (bodyPieces.length - 1) * (keyLength - 1);
  const lines = Object.entries({ host: 'bench', ...headers, 'content-length': `${length}` });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `POST ${path} HTTP/1.1\r\n${head}\r\n${body}`.split('@');
}
