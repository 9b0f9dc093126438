/**
 * Where in a request, a recovery or a life a server can be struck, in the order in which they come.
 * The third word says which step of the fault matrix a point belongs to.
 */
const TABLE = [
  ['request', 'a request has arrived', 'A'],
  ['claim', 'the store is about to be asked for the key', 'A'],
  ['claim-sent', 'the store has been asked', 'B'],
  ['claimed', 'the store has answered that the key is ours', 'B'],
  ['T1', 'the entry is about to be written', 'C'],
  ['T1-sent', 'the statement is on its way', 'C'],
  ['T1-done', 'the entry is committed, nothing is sent', 'C'],
  ['psp-headers', 'the head of the PSP request is about to be written', 'D'],
  ['psp-body', 'the PSP request is written', 'D'],
  ['psp-status', 'the head of the PSP answer is read', 'D'],
  ['psp-answer', 'the PSP answer is read', 'D'],
  ['T2', 'the outcome is about to be written', 'E'],
  ['T2-sent', 'the statement is on its way', 'E'],
  ['T2-done', 'the outcome is committed', 'E'],
  ['remember', 'the store is about to be told the answer', 'F'],
  ['remembered', 'the store has the answer', 'F'],
  ['unlocked', 'the store has the key back', 'F'],
  ['numbered', 'events have their positions, and nobody is told', 'F'],
  ['reply', 'half of the answer is written to the client', 'G'],
  ['draining', 'SIGTERM has come', 'G'],
  ['taken-over', 'recovery has taken entries over', 'H'],
  ['asked', 'the PSP has answered recovery', 'H'],
  ['webhook', 'a webhook is believed, nothing is written', 'W'],
  ['webhook-kept', 'a webhook and what it did are committed', 'W'],
  ['migrating', 'a starting server asks how far the tables are', 'S'],
  ['boot', 'a starting server is about to listen', 'S'],
] as const;

export type Point = (typeof TABLE)[number][0];
/** Of the fault matrix; S: a start. */
export type Step = (typeof TABLE)[number][2];

export const POINTS: readonly Point[] = TABLE.map(([point]) => point);

const STEPS = new Map<Point, Step>(TABLE.map(([point, , step]) => [point, step]));

export function stepOf(point: Point): Step {
  return STEPS.get(point) ?? 'A';
}

/**
 * What a server does to itself at a point: dies, stands still until it is woken, is busy for some
 * time, holds the request until it is told to go on, or nothing.
 */
export type Action = 'kill' | 'stop' | 'block' | 'hold' | 'nothing';
