/** A site's `models.json` with models of two folders. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FIXTURES_FOLDER } from './harness.ts';
import { SITE } from './page.ts';
import type { TestServer } from './server.ts';

const SMALL = `${FIXTURES_FOLDER}marian_tied/`;
export const FILES = ['config.json', 'generation_config.json', 'tokenizer_config.json', 'vocab.json', 'source.spm', 'target.spm', 'model.safetensors'];

/** An entry for a small model under another name. */
export function entry(name: string, pairs: [string, string][], more: Record<string, unknown> = {}): Record<string, unknown> {
  const files = FILES.map((file) => {
    const content = readFileSync(join(SMALL, file));
    return [file, { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }] as const;
  });
  const bytes = files.reduce((sum, [, file]) => sum + file.bytes, 0);
  return { name, family: 'marian', pairs, bytes, licence: 'CC-BY-4.0', url: `models/${name}/`, files: Object.fromEntries(files), ...more };
}

/** Serves the model that the page opens, and these entries. */
export function offer(server: TestServer, entries: Record<string, unknown>[]): void {
  const { models } = JSON.parse(readFileSync(join(SITE, 'models.json'), 'utf8')) as { models: unknown[] };
  const body = JSON.stringify({ version: 1, models: [...models.slice(0, 1), ...entries] });
  server.rules = [...server.rules, { path: '/models.json', body, type: 'application/json' }];
  for (const { url } of entries) server.mount(`/${url as string}`, SMALL);
}
