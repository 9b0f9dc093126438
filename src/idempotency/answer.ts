/** Kept in place of an answer when the work threw and nothing tells what it did. */
export const UNKNOWN = '?';

export type Kept<A> =
  | { readonly kind: 'answer'; readonly answer: A }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'damaged' };

/** Answers are kept as JSON. */
export function encode(answer: unknown): string {
  return `=${JSON.stringify(answer ?? null)}`;
}

export function decode<A>(text: string): Kept<A> {
  if (text === UNKNOWN) return { kind: 'unknown' };
  if (!text.startsWith('=')) return { kind: 'damaged' };
  try {
    return { kind: 'answer', answer: JSON.parse(text.slice(1)) as A };
  } catch {
    return { kind: 'damaged' };
  }
}

/** The first answer passes through the same form as a replay, so that the two cannot differ. */
export function asKept<A>(text: string): A {
  return JSON.parse(text.slice(1)) as A;
}
