import { createHash } from 'node:crypto';
import { BadBody } from './body.ts';

/** `off`: only texts. `allowed`: texts and ids. `required`: nothing but documents that are known. */
export const TRUST_MODES = ['off', 'allowed', 'required'] as const;
export type TrustMode = (typeof TRUST_MODES)[number];

/** Ids and texts, as code generation writes them (`persisted-documents.json`). */
export type Manifest = Readonly<Record<string, string>>;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Documents that are known beforehand, named by an id (GraphQL over HTTP, appendix "Persisted
 * Documents", member `documentId`). An id is an opaque name; a known text may also be sent whole.
 */
export class TrustedDocuments {
  readonly #mode: TrustMode;
  readonly #texts: ReadonlyMap<string, string>;
  readonly #digests: ReadonlySet<string>;

  constructor(mode: TrustMode, manifest: Manifest) {
    this.#mode = mode;
    this.#texts = new Map(Object.entries(manifest));
    this.#digests = new Set(Object.values(manifest).map(digestOf));
  }

  /** @returns the request as GraphQL is asked. @throws BadBody if its document may not be run */
  admit(request: unknown): unknown {
    if (typeof request !== 'object' || request === null || Array.isArray(request)) return request;
    const { documentId, ...rest } = request as Fields;
    if (documentId !== undefined && documentId !== null) {
      return { ...rest, query: this.#text(documentId) };
    }
    this.#refuseUnknown(rest['query']);
    return request;
  }

  /** The same for a GET. @param search the query string, with its question mark */
  admitSearch(search: string): string {
    const parameters = new URLSearchParams(search);
    const documentId = parameters.get('documentId');
    if (documentId === null) {
      this.#refuseUnknown(parameters.get('query'));
      return search;
    }
    parameters.delete('documentId');
    parameters.set('query', this.#text(documentId));
    return `?${parameters}`;
  }

  #text(id: unknown): string {
    if (this.#mode === 'off') throw new BadBody(400, 'Documents cannot be named by an id here.');
    const text = typeof id === 'string' ? this.#texts.get(id) : undefined;
    if (text === undefined) throw new BadBody(400, 'There is no trusted document of this id.');
    return text;
  }

  #refuseUnknown(text: unknown): void {
    if (this.#mode !== 'required') return;
    if (typeof text === 'string' && this.#digests.has(digestOf(text))) return;
    throw new BadBody(400, 'Only trusted documents are run here; name one by its documentId.');
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
