import { parse, print } from 'graphql';
import { describe, expect, it } from 'vitest';
import { nameIn, textOf } from '../../src/client/document.ts';
import * as documents from '../../src/generated/client/graphql.ts';
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

  it.each(Object.entries(texts))('says the same as the generated %s', (name, text) => {
    const tree = Object.entries(documents).find(([other]) => {
      return other === name.replace(/Text$/, 'Document');
    })?.[1];
    const sorted = (one: string): readonly string[] =>
      parse(one)
        .definitions.map((definition) => print(definition))
        .sort();
    expect(sorted(textOf(tree as object))).toEqual(sorted(text));
  });
});

it('needs a name', () => {
  expect(nameIn('fragment F on X { y } mutation Pay($a: B) { pay }')).toBe('Pay');
  expect(() => nameIn('{ pay }')).toThrow(TypeError);
});
