/** A model's folder from any source, for an engine in a browser. */
import { WordloomError } from '../errors.js';
import type { WireCreate } from '../protocol.js';
import type { ProgressEvent } from '../types.js';
import { type Address, addressOf } from './address.js';
import type { OpenFolder } from './folder.js';
import { ModelCache } from './model-cache.js';
import { openStoredFolder } from './stored-folder.js';
import { filesIn, openLocalFolder } from './local-folder.js';
import { type Manifest, readManifest } from './manifest.js';
import { DownloadProgress } from './progress.js';
import { openRemoteFolder } from './remote-folder.js';
import { acquire, canKeep, keyOf, noStore, type Store, storeFor } from './store.js';
import { watchOtherTab } from './other-tab.js';

export async function openBrowserFolder(
  options: WireCreate,
  report: (event: ProgressEvent) => void,
  signal: AbortSignal,
): Promise<OpenFolder> {
  const { source, cache } = options;
  if (source.from === 'files') {
    return openLocalFolder(source.label, source.files, await readManifest(options.manifest, signal));
  }
  if (source.from === 'directory') {
    const label = source.handle.name || 'the chosen folder';
    return openLocalFolder(label, await filesIn(source.handle), await readManifest(options.manifest, signal));
  }
  const address = addressOf(source);
  const progress = new DownloadProgress(report);
  const store = cache !== 'none' && canKeep() ? await storeFor(keyOf(address.identity), true) : undefined;
  if (cache === 'required' && !store) throw noStore();
  if (cache === 'preferred' && !store) {
    progress.warn('This browser keeps no files here: the model is held in memory, and downloaded again next time.');
  }
  const manifest = await manifestFor(options, store, progress, signal);
  if (!store) return openRemoteFolder({ address, modelCache: new ModelCache(progress, cache), manifest, signal });
  return openKeptOrRemote(address, store, cache, manifest, progress, signal);
}

async function openKeptOrRemote(
  address: Address,
  store: Store,
  cache: WireCreate['cache'],
  manifest: Manifest,
  progress: DownloadProgress,
  signal: AbortSignal,
): Promise<OpenFolder> {
  const kept = async () => openStoredFolder(address.label, store, await store.catalogue(), manifest, progress);
  const here = await kept();
  if (here) return here;
  // One tab downloads; the others wait for it.
  let stopWatching = () => {};
  const release = await acquire(keyOf(address.identity), signal, () => {
    stopWatching = watchOtherTab(store, progress);
  }).finally(() => stopWatching());
  try {
    const done = await kept();
    if (done) {
      release();
      return done;
    }
    const modelCache = new ModelCache(progress, cache, { store, catalogue: await store.catalogue(), release });
    return await openRemoteFolder({ address, modelCache, manifest, signal });
  } catch (error) {
    release();
    throw error;
  }
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
    const offline = error instanceof WordloomError && error.kind === 'network' && !signal.aborted;
    if (!offline || !store || !(await store.catalogue()).complete) throw error;
    progress.warn(`${error.message} The model that is kept in this browser is used as it is.`);
    return own;
  }
}
