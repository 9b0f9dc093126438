import { expect, test } from 'vitest';
import { readAnswer, requestPieces } from './connection.ts';
import { readFlags } from './flags.ts';
import { chooseModes, MODES, REFERENCE } from './modes.ts';
import { readPgbench } from './pgbench.ts';

const HEAD = 'HTTP/1.1 200 OK\r\n';

test('an answer is whole when its body is as long as its head says', () => {
  const text = `${HEAD}Content-Length: 4\r\n\r\nbody`;
  expect(readAnswer(text)).toEqual({ status: 200, text: 'body' });
  for (let end = 0; end < text.length; end += 1) {
    expect(readAnswer(text.slice(0, end))).toBeUndefined();
  }
});

test('an answer in chunks is whole when the last one is there', () => {
  const text = `${HEAD}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`;
  expect(readAnswer(text)?.text).toContain('body');
  expect(readAnswer(text.slice(0, -2))).toBeUndefined();
});

test('a request says the length of its body with the key in it', () => {
  const asking = { path: '/x', headers: { 'idempotency-key': '@' }, body: '{"k":"@","l":"@"}' };
  const request = requestPieces(asking, 5).join('abcde');
  const [head, body] = request.split('\r\n\r\n');
  expect(body).toBe('{"k":"abcde","l":"abcde"}');
  expect(head).toContain(`content-length: ${body?.length}`);
  expect(head).toContain('idempotency-key: abcde');
});

test('pgbench is read, and a run with failed transactions is none', () => {
  const text = 'number of transactions actually processed: 200\ntps = 100.5 (without …)\n';
  expect(readPgbench(text)).toMatchObject({ requests: 200, right: 200, p50Ms: null });
  expect(() => readPgbench(`number of failed transactions: 3 (1 %)\n${text}`)).toThrow(
    'did not work',
  );
  expect(() => readPgbench('nothing')).toThrow('did not work');
});

test.each([
  [['--rounds', '0'], '--rounds is "0"'],
  [['--fresh', 'many'], '--fresh is "many"'],
  [['--seconds', '-1'], '--seconds'],
  [['--faults', 'some'], 'accepted: none, ours, all'],
  [['--nonsense'], '--nonsense'],
])('%o is refused by name', (args, text) => {
  expect(() => readFlags(args)).toThrow(text);
});

test('a mode that does not exist is refused, and the reference is always played', () => {
  const flags = { short: false, against: undefined };
  expect(() => chooseModes({ ...flags, modes: ['new', 'nwe'] })).toThrow('no mode "nwe"');
  expect(chooseModes({ ...flags, modes: ['new'] }).map(({ name }) => name)).toEqual([
    REFERENCE,
    'new',
  ]);
  expect(chooseModes({ ...flags, modes: undefined })).toHaveLength(MODES.length);
});

test('the modes of the other commit are there only with it', () => {
  const names = (against: string | undefined) =>
    chooseModes({ short: true, modes: undefined, against }).map(({ system }) => system);
  expect(names(undefined)).not.toContain('against');
  expect(names('HEAD~1')).toContain('against');
});
