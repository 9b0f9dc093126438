import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildASTSchema, parse } from 'graphql';

/** As much of GraphQL Code Generator's configuration as a project with the client preset needs. */
export interface CodegenConfig {
  /** A folder and `*.graphql`. */
  readonly schema: string;
  readonly documents: string;
  readonly importExtension: string;
  readonly generates: Readonly<Record<string, { presetConfig: object; config: object }>>;
}

/** Does what the command `graphql-codegen` does in a project's folder. */
export async function generate(folder: string, config: CodegenConfig): Promise<void> {
  const { importExtension } = config;
  const schemaFolder = join(folder, dirname(config.schema));
  const names = (await readdir(schemaFolder)).filter((name) => name.endsWith('.graphql'));
  const texts = await Promise.all(names.map((name) => readFile(join(schemaFolder, name), 'utf8')));
  const schema = parse(texts.join('\n'));
  const rawSDL = await readFile(join(folder, config.documents), 'utf8');
  for (const [baseOutputDir, { presetConfig, config: options }] of Object.entries(
    config.generates,
  )) {
    const sections = await preset.buildGeneratesSection({
      baseOutputDir,
      schema,
      schemaAst: buildASTSchema(schema),
      documents: [{ location: config.documents, document: parse(rawSDL), rawSDL }],
      config: { ...options, importExtension },
      presetConfig,
      plugins: [],
      pluginMap: {},
      pluginContext: {},
    });
    for (const section of sections) {
      const path = join(folder, section.filename);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, await codegen(section));
    }
  }
}
