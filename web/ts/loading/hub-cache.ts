/** The cache that the hub's tools share, on disk. Read only: `wordloom models get` and others fill it. */
import { access, readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type HubName, MAIN } from '../hub-name.js';
import { WEIGHTS } from './folder.js';

/** The folder of a revision, if the cache has its configuration and weights. */
export async function cachedSnapshot({ name, revision }: HubName): Promise<string | undefined> {
  const folder = join(cacheFolder(), `models--${name.replace('/', '--')}`);
  try {
    const isCommit = /^[0-9a-f]{40}$/.test(revision);
    const commit = isCommit ? revision : (await readFile(join(folder, 'refs', revision), 'utf8')).trim();
    if (!/^[0-9a-f]{40}$/.test(commit)) return undefined;
    const snapshot = join(folder, 'snapshots', commit);
    await access(join(snapshot, 'config.json'));
    await Promise.any(WEIGHTS.flatMap(({ single, index }) => [access(join(snapshot, single)), access(join(snapshot, index))]));
    return snapshot;
  } catch {
    return undefined;
  }
}

/** The names of the models that the cache has at `main`. */
export async function cachedNames(): Promise<string[]> {
  const folders = await readdir(cacheFolder()).catch(() => []);
  const named = folders.filter((folder) => folder.startsWith('models--')).map((folder) => folder.slice(8).replace('--', '/'));
  const found = await Promise.all(named.map(async (name) => (await cachedSnapshot({ name, revision: MAIN })) && name));
  return found.filter((name) => name !== undefined).sort();
}

function cacheFolder(): string {
  const { HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME } = process.env;
  if (HF_HUB_CACHE) return HF_HUB_CACHE;
  return join(HF_HOME || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'huggingface'), 'hub');
}
