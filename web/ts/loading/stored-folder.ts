/** A model that this browser has stored. It needs no request. */
import type { EngineInfo } from '../types.js';
import type { HostFile } from '../wordloom_web.js';
import { type OpenFolder, pairOf } from './folder.js';
import type { Manifest } from './manifest.js';
import type { DownloadProgress } from './progress.js';
import { sha256OfFile } from './sha256.js';
import { BlobReader } from './sink.js';
import type { Catalogue, Origin, Store } from './store.js';

/** Undefined if a file is missing, has another length, or differs from the manifest. */
export async function openStoredFolder(
  label: string,
  store: Store,
  catalogue: Catalogue,
  manifest: Manifest,
  progress: DownloadProgress,
  origin?: Origin,
): Promise<OpenFolder | undefined> {
  if (!catalogue.complete) return undefined;
  const entries = Object.entries(catalogue.files);
  const found = await Promise.all(entries.map(([name]) => store.file(name)));
  const files: HostFile[] = [];
  let hashed = false;
  for (const [at, [name, entry]] of entries.entries()) {
    const file = found[at];
    if (file?.size !== entry.size) return undefined;
    const reader = new BlobReader(file);
    const read = (offset: number, length: number) => reader.read(offset, length);
    if (manifest[name] !== undefined && entry.sha256 === undefined) {
      entry.sha256 = sha256OfFile(entry.size, read);
      hashed = true;
    }
    if (manifest[name] !== undefined && entry.sha256 !== manifest[name]) {
      // The caller wants another version: delete this one and download again.
      await store.forget(name, catalogue);
      return undefined;
    }
    files.push({ name, size: entry.size, read, arrived: () => Promise.resolve() });
  }
  const renamed = origin !== undefined && JSON.stringify(origin) !== JSON.stringify(catalogue.origin);
  if (renamed) catalogue.origin = origin;
  if (hashed || renamed) await store.save(catalogue);
  progress.expect(files.map(({ name, size }) => [name, size]));
  for (const { name, size } of files) progress.update(name, size, size, true);
  const loaded = async ({ family, languages }: EngineInfo['model']) => {
    if (catalogue.about) return;
    const config = files.find(({ name }) => name === 'tokenizer_config.json');
    catalogue.about = { family, languages, pair: pairOf(config?.read(0, config.size)) };
    await store.save(catalogue);
  };
  const forget = (damaged: string) => store.forgetDamaged(damaged, catalogue);
  return { host: { label, files }, complete: Promise.resolve(), failure: () => undefined, loaded, forget, close: () => {} };
}
