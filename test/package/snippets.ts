import { readFile } from 'node:fs/promises';

const BLOCK = /^```(ts|tsx|graphql)\n(?:\/\/|#) (\S+)\n(.*?)^```$/gms;

/** The files that a guide shows: blocks of code whose first line is a comment with their name. */
export async function snippetsOf(guide: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(guide, 'utf8');
  const files = [...text.matchAll(BLOCK)].map(
    ([, , name = '', code = '']) => [name, code] as const,
  );
  const blocks = text.match(/^```(ts|tsx|graphql)$/gm) ?? [];
  if (files.length !== blocks.length) throw new Error(`A block of ${guide} has no file name.`);
  return new Map(files);
}
