import { describe, expect, test } from 'vitest';
import { TrustedDocuments } from '../../src/http/index.ts';

const PAY = 'mutation Pay { createPayment { payment { id } } }';
const manifest = { 'sha256:pay': PAY };

describe('trusted documents', () => {
  test('an id stands for its text, and the rest of the request stays', () => {
    const documents = new TrustedDocuments('allowed', manifest);
    const request = { documentId: 'sha256:pay', variables: { a: 1 } };
    expect(documents.admit(request)).toEqual({ query: PAY, variables: { a: 1 } });
    expect(documents.admitSearch('?documentId=sha256%3Apay&variables=%7B%7D')).toBe(
      `?${new URLSearchParams({ variables: '{}', query: PAY })}`,
    );
  });

  test('an id that is not known is refused, and so is one that is no text', () => {
    const documents = new TrustedDocuments('allowed', manifest);
    for (const documentId of ['sha256:other', '__proto__', 'constructor', 1, {}]) {
      expect(() => documents.admit({ documentId })).toThrow('no trusted document');
    }
  });

  test('where they are allowed, other texts are, too; where they are off, ids are refused', () => {
    const other = { query: '{ __typename }' };
    expect(new TrustedDocuments('allowed', manifest).admit(other)).toBe(other);
    expect(new TrustedDocuments('off', {}).admit(other)).toBe(other);
    const named = { documentId: 'sha256:pay' };
    expect(() => new TrustedDocuments('off', manifest).admit(named)).toThrow('here');
  });

  test('where they are required, nothing else runs; a known text may be sent whole', () => {
    const documents = new TrustedDocuments('required', manifest);
    expect(documents.admit({ query: PAY })).toEqual({ query: PAY });
    for (const query of [`${PAY} `, '{ __typename }', undefined, 1]) {
      expect(() => documents.admit({ query })).toThrow('Only trusted documents');
    }
    expect(() => documents.admitSearch('?query=%7B__typename%7D')).toThrow('Only trusted');
    expect(() => documents.admitSearch('')).toThrow('Only trusted');
  });

  test('what is no object is left to GraphQL to refuse', () => {
    const documents = new TrustedDocuments('required', manifest);
    for (const request of [undefined, null, 'text', 1, []]) {
      expect(documents.admit(request)).toBe(request);
    }
  });
});
