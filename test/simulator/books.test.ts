import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppendFile } from '../../src/simulator/append-file.ts';
import { startTestSimulator } from '../support/with-simulator.ts';
import { charge, fresh, operations, PATIENCE } from './calls.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'semel-books-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

function open(path: string): { readonly file: AppendFile; readonly lines: readonly unknown[] } {
  const lines: unknown[] = [];
  const onLine = (line: string): void => {
    lines.push(JSON.parse(line));
  };
  return { file: new AppendFile(path, { durable: true, onLine }), lines };
}

describe('a file that only grows', () => {
  it('gives back every line in order', async () => {
    const path = join(dataDir, 'lines');
    const { file } = open(path);
    const wanted = Array.from({ length: 500 }, (_, number) => ({ number, text: 'é\u2028 x' }));
    await Promise.all(wanted.map((line) => file.append(JSON.stringify(line))));
    await file.close();
    const again = open(path);
    expect(again.lines).toEqual(wanted);
    await again.file.close();
  });

  it.each(['{"torn":', '{"torn":tr\n', '\u0000\u0000\u0000\n'])(
    'cuts off a last line that was torn: %j',
    async (tail) => {
      const path = join(dataDir, 'lines');
      await writeFile(path, `{"a":1}\n${tail}`);
      const { file, lines } = open(path);
      expect(lines).toEqual([{ a: 1 }]);
      await file.append('{"b":2}');
      await file.close();
      expect(await readFile(path, 'utf8')).toBe('{"a":1}\n{"b":2}\n');
    },
  );

  it('refuses a file that is damaged before its end', async () => {
    const path = join(dataDir, 'lines');
    await writeFile(path, '{"a":1}\nrubbish\n{"b":2}\n');
    expect(() => open(path)).toThrow('damaged at byte 8');
  });

  it('accepts nothing once it is closed', async () => {
    const { file } = open(join(dataDir, 'lines'));
    await file.close();
    await expect(file.append('{}')).rejects.toThrow('closed');
  });
});

describe('the books after SIGKILL', () => {
  it('hold every acknowledged charge exactly once, and repeats get the first answer', async () => {
    const first = await startTestSimulator({ dataDir });
    const acknowledged = new Map<string, { readonly key: string; readonly text: string }>();
    let running = true;
    const loads = Array.from({ length: 32 }, async () => {
      while (running) {
        const { reference, key } = fresh();
        try {
          const answer = await charge(first.url, { reference, key });
          if (answer.status === 200) acknowledged.set(reference, { key, text: answer.text });
        } catch {
          return;
        }
      }
    });
    await expect.poll(() => acknowledged.size, PATIENCE).toBeGreaterThan(200);
    await first.kill();
    running = false;
    await Promise.all(loads);

    const second = await startTestSimulator({ dataDir });
    const counts = new Map<string, number>();
    for (const { reference } of await second.executions()) {
      counts.set(reference, (counts.get(reference) ?? 0) + 1);
    }
    const notOnce = [...acknowledged.keys()].filter((reference) => counts.get(reference) !== 1);
    expect(notOnce).toEqual([]);
    for (const [reference, { key, text }] of [...acknowledged].slice(-50)) {
      expect((await charge(second.url, { reference, key })).text).toBe(text);
    }
    expect(await second.executions()).toHaveLength(counts.size);
    await second.stop();
  });

  it('keep promises: what is pending settles, what is late executes', async () => {
    const first = await startTestSimulator({ dataDir });
    const pending = { ...fresh(), source: 'pm_pending_400' };
    const late = { ...fresh(), source: 'pm_execute_late_400' };
    await charge(first.url, pending);
    const unanswered = expect(charge(first.url, late)).rejects.toThrow();
    await expect
      .poll(() => readFile(join(dataDir, 'books.jsonl'), 'utf8'), PATIENCE)
      .toContain('"t":"promised"');
    await first.kill();
    await unanswered;
    await appendFile(join(dataDir, 'books.jsonl'), '{"t":"operation","oper');

    const second = await startTestSimulator({ dataDir });
    await expect.poll(() => second.executions(), PATIENCE).toHaveLength(2);
    for (const { reference } of [pending, late]) {
      expect(await operations(second.url, reference)).toMatchObject([{ status: 'succeeded' }]);
      expect(await second.executions(reference)).toHaveLength(1);
    }
    expect(await second.requests()).toHaveLength(4);
    await second.stop();
  });

  it('keep what was captured and refunded', async () => {
    const first = await startTestSimulator({ dataDir });
    const { json } = await charge(first.url, fresh());
    const body = { charge: json?.['id'], amountMinor: 1_000 };
    const refund = async (url: string) => {
      const { reference, key } = fresh();
      const headers = { 'idempotency-key': key };
      const text = JSON.stringify({ reference, ...body });
      const response = await fetch(`${url}/v1/refunds`, { method: 'POST', headers, body: text });
      return (await response.json()) as unknown;
    };
    expect(await refund(first.url)).toMatchObject({ status: 'succeeded' });
    await first.kill();
    const second = await startTestSimulator({ dataDir });
    expect(await refund(second.url)).toMatchObject({ status: 'declined' });
    await second.stop();
  });
});
