import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'graphql';
import { expect, test } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../schema');
const ROOTS = new Set(['Query', 'Mutation', 'Subscription']);

test('every type, field and value of the schema is described', () => {
  const bare: string[] = [];
  for (const file of readdirSync(FOLDER)) {
    for (const definition of parse(readFileSync(join(FOLDER, file), 'utf8')).definitions) {
      if (!('name' in definition) || definition.name === undefined) continue;
      const name = definition.name.value;
      if (!ROOTS.has(name) && !('description' in definition && definition.description)) {
        bare.push(name);
      }
      const members = [
        ...('fields' in definition ? (definition.fields ?? []) : []),
        ...('values' in definition ? (definition.values ?? []) : []),
      ];
      for (const member of members) {
        if (!member.description) bare.push(`${name}.${member.name.value}`);
      }
    }
  }
  expect(bare).toEqual([]);
});
