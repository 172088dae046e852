/** A model's folder from any source, for an engine in a browser. */
import type { WireCreate } from '../protocol.js';
import type { ProgressEvent } from '../types.js';
import { addressOf } from './address.js';
import type { OpenFolder } from './folder.js';
import { openKeptOrRemote } from './kept-or-remote.js';
import { ModelCache } from './model-cache.js';
import { filesIn, openLocalFolder } from './local-folder.js';
import { type Manifest, readManifest } from './manifest.js';
import { DownloadProgress } from './progress.js';
import { isOffline } from './hub.js';
import { openHubModel } from './open-hub.js';
import { openRemoteFolder } from './remote-folder.js';
import { canKeep, keyOf, noStore, originOf, type Store, storeFor } from './store.js';

export async function openBrowserFolder(
  options: WireCreate,
  report: (event: ProgressEvent) => void,
  signal: AbortSignal,
  families: () => Promise<string[]>,
): Promise<OpenFolder> {
  const { source, cache } = options;
  if (source.from === 'files') {
    return openLocalFolder(source.label, source.files, await readManifest(options.manifest, signal));
  }
  if (source.from === 'directory') {
    const label = source.handle.name || 'the chosen folder';
    return openLocalFolder(label, await filesIn(source.handle), await readManifest(options.manifest, signal));
  }
  const progress = new DownloadProgress(report);
  const opening = { progress, signal, families };
  if (source.from === 'hub') return openHubModel(source, options, opening);
  const address = addressOf(source);
  const store = cache !== 'none' && canKeep() ? await storeFor(keyOf(address.identity), true) : undefined;
  if (cache === 'required' && !store) throw noStore();
  if (cache === 'preferred' && !store) {
    progress.warn('This browser keeps no files here: the model is held in memory, and downloaded again next time.');
  }
  const manifest = await manifestFor(options, store, progress, signal);
  if (!store) return openRemoteFolder({ ...opening, address, modelCache: new ModelCache(progress, cache), manifest });
  return openKeptOrRemote({ ...opening, address, store, cache, manifest, origin: originOf(source) });
}

/** The checksums, including those of the bundled model. */
async function manifestFor(
  { source, manifest }: WireCreate,
  store: Store | undefined,
  progress: DownloadProgress,
  signal: AbortSignal,
): Promise<Manifest> {
  const own = source.from === 'bundle' ? source.manifest : {};
  try {
    return { ...own, ...(await readManifest(manifest, signal)) };
  } catch (error) {
    if (!isOffline(error, signal) || !store || !(await store.catalogue()).complete) throw error;
    progress.warn(`${error.message} The model that is kept in this browser is used as it is.`);
    return own;
  }
}
