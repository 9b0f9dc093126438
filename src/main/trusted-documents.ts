import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { TrustedDocuments } from '../http/index.ts';
import { BadConfiguration, type Config } from './config.ts';

const manifest = z.record(z.string().min(1), z.string().min(1));

/** @throws BadConfiguration if trusted documents are wanted and their file cannot be used */
export function trustedDocuments(config: Config): TrustedDocuments {
  const { TRUSTED_DOCUMENTS: mode, TRUSTED_DOCUMENTS_FILE: file } = config;
  if (mode === 'off') return new TrustedDocuments(mode, {});
  try {
    return new TrustedDocuments(mode, manifest.parse(JSON.parse(readFileSync(file, 'utf8'))));
  } catch {
    throw new BadConfiguration([
      `TRUSTED_DOCUMENTS_FILE is ${JSON.stringify(file)}; accepted: a JSON file of ids and documents.`,
    ]);
  }
}
