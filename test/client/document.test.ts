import { createHash } from 'node:crypto';
import { type DocumentNode, parse, print } from 'graphql';
import { describe, expect, it } from 'vitest';
import { nameIn, textOf } from '../../src/client/document.ts';
import * as documents from '../../src/generated/client/graphql.ts';
import manifestFile from '../../src/generated/client/persisted-documents.json' with {
  type: 'json',
};
import * as texts from '../../src/generated/client/texts.ts';

const EVERYTHING = `
  query Everything($a: [Int!]! = [1, 2], $b: T = {x: null, y: E, z: "q\\"\\n"} @c(d: 1.5), $e: B = true) @f {
    one: two(three: $a, four: {five: [$b, "six"]}) @include(if: $e) { seven ...Eight }
    ... on Nine @skip(if: false) { ten }
    ... @include(if: true) { eleven }
    twelve(text: """block "text" here""")
  }
  fragment Eight on Seven @thirteen { fourteen(fifteen: -16) }
  mutation Other { seventeen }
  subscription { eighteen }
`;

const manifest: Readonly<Record<string, string>> = manifestFile;
const documentNames = Object.keys(texts).flatMap((name) => /^(.*)Text$/.exec(name)?.[1] ?? []);

/** The three forms of an operation. */
function generated(name: string) {
  const of = <T>(values: object, key: string) => (values as Record<string, unknown>)[key] as T;
  type WithId = DocumentNode & { readonly __meta__?: { readonly hash: string } };
  return {
    ast: of<WithId>(documents, `${name}Document`),
    text: of<string>(texts, `${name}Text`),
    id: of<string>(texts, `${name}Id`),
  };
}

describe('the printer', () => {
  it('says the same as the one of graphql-js', () => {
    const again = print(parse(textOf(parse(EVERYTHING, { noLocation: true }))));
    const text = print(parse(EVERYTHING)).replace(
      '"""block "text" here"""',
      '"block \\"text\\" here"',
    );
    expect(again).toBe(text);
  });

  it('takes texts as they are, also those of code generation', () => {
    expect(textOf('query A { b }')).toBe('query A { b }');
    expect(textOf(new String('query A { b }'))).toBe('query A { b }');
  });

  it.each(documentNames)('prints the generated %s', (name) => {
    const { ast } = generated(name);
    expect(print(parse(textOf(ast)))).toBe(print(ast));
  });
});

describe('the manifest of trusted documents', () => {
  it('has the SHA-256 of every text that is sent', () => {
    expect(Object.keys(manifest)).toHaveLength(documentNames.length);
    for (const [id, text] of Object.entries(manifest)) {
      expect(id).toBe(`sha256:${createHash('sha256').update(text).digest('hex')}`);
    }
  });

  it.each(documentNames)('has %s', (name) => {
    const { ast, text, id } = generated(name);
    expect(manifest[id]).toBe(text);
    expect(ast.__meta__?.hash).toBe(id);
  });
});

it('needs a name', () => {
  expect(nameIn('fragment F on X { y } mutation Pay($a: B) { pay }')).toBe('Pay');
  expect(() => nameIn('{ pay }')).toThrow(TypeError);
});
