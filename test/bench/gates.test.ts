import { expect, test } from 'vitest';
import { countCharges, type Fault } from './faults.ts';
import { brokenIn, type Facts, faultsOfOurs, wrongAnswers } from './gates.ts';

const books = { system: 'semel', paid: 10, succeeded: 10, postings: 20, unbalanced: 0 };
const facts: Facts = { books: [books], executions: 10, references: 10 };
const fault: Fault = {
  system: 'semel',
  fault: 'redis lost',
  isStable: true,
  keys: 5,
  charges: 5,
  most: 1,
  twice: 0,
  unanswered: 0,
};

test('books that agree break nothing', () => {
  expect(brokenIn(facts)).toEqual([]);
});

test('a reference that was executed twice fails the run', () => {
  expect(brokenIn({ ...facts, executions: 11 })).toContain(
    '1 executions too many: a payment was charged again',
  );
});

test('an execution that nobody was told of fails the run', () => {
  expect(brokenIn({ ...facts, executions: 11, references: 11 })).toEqual([
    '10 keys were paid, the PSP executed 11',
  ]);
});

test.each([
  [{ succeeded: 9, postings: 18 }, 'semel: 10 keys were paid, 9 are in the journal'],
  [{ postings: 19 }, 'semel: 19 postings of 10 payments'],
  [{ unbalanced: 1 }, 'semel: the postings of 1 entries do not sum to zero'],
])('a journal with %o fails the run', (change, line) => {
  expect(brokenIn({ ...facts, books: [{ ...books, ...change }] })).toEqual([line]);
});

test('each journal is looked at, and their payments are the PSP’s together', () => {
  const two = [books, { ...books, system: 'against' }];
  expect(brokenIn({ books: two, executions: 20, references: 20 })).toEqual([]);
  expect(brokenIn({ books: two, executions: 19, references: 19 })).toHaveLength(1);
});

test('one wrong answer fails the run and is shown', () => {
  const right = { mode: 'no-op', wrong: 0, firstWrong: null };
  expect(wrongAnswers([right, { mode: 'new', wrong: 2, firstWrong: '500 x' }])).toEqual([
    'new: 2 wrong answers, the first: 500 x',
  ]);
});

test('a fault that charges one of our keys twice, never, or leaves it open fails the run', () => {
  expect(faultsOfOurs([fault], 'semel')).toEqual([]);
  for (const change of [{ charges: 6, most: 2 }, { charges: 4 }, { unanswered: 1 }]) {
    expect(faultsOfOurs([{ ...fault, ...change }], 'semel')).toHaveLength(1);
  }
  // One key twice and another never: the sum alone would look right.
  expect(faultsOfOurs([{ ...fault, most: 2 }], 'semel')).toHaveLength(1);
});

test('what a fault does to a peer is reported, and fails nothing', () => {
  expect(faultsOfOurs([{ ...fault, system: 'lock', charges: 9, most: 4 }], 'semel')).toEqual([]);
});

test('charges are counted by key; one that belongs to no key is one too many', () => {
  const same = (reference: string) => reference;
  const at = (...references: string[]) => references.map((reference) => ({ reference }));
  expect(countCharges(['a', 'b'], at('a', 'b'), same)).toEqual({ charges: 2, most: 1, twice: 0 });
  expect(countCharges(['a', 'b'], at('a', 'a', 'a'), same)).toEqual({
    charges: 3,
    most: 3,
    twice: 1,
  });
  expect(countCharges(['a'], at('a', 'c'), same)).toEqual({ charges: 2, most: 2, twice: 1 });
});
