/** A stored model, or else a download that only one of several tabs runs. */
import type { WireCreate } from '../protocol.js';
import type { Address } from './address.js';
import type { OpenFolder } from './folder.js';
import type { Manifest } from './manifest.js';
import { ModelCache } from './model-cache.js';
import { watchOtherTab } from './other-tab.js';
import type { DownloadProgress } from './progress.js';
import { openRemoteFolder } from './remote-folder.js';
import { acquire, type Origin, type Store } from './store.js';
import { openStoredFolder } from './stored-folder.js';

/** What every way to open a folder needs. */
export interface Opening {
  progress: DownloadProgress;
  signal: AbortSignal;
  /** The families that the engine reads. */
  families(): Promise<string[]>;
}

interface KeptOrRemote extends Opening {
  address: Address;
  store: Store;
  cache: WireCreate['cache'];
  manifest: Manifest;
  origin: Origin;
}

export async function openKeptOrRemote(options: KeptOrRemote): Promise<OpenFolder> {
  const { address, store, cache, manifest, progress, signal, origin } = options;
  const kept = async () => openStoredFolder(address.label, store, await store.catalogue(), manifest, progress, origin);
  const here = await kept();
  if (here) return here;
  // One tab downloads; the others wait for it.
  let stopWatching = () => {};
  const release = await acquire(store.key, signal, () => {
    stopWatching = watchOtherTab(store, progress);
  }).finally(() => stopWatching());
  try {
    const done = await kept();
    if (done) {
      release();
      return done;
    }
    const catalogue = { ...(await store.catalogue()), origin };
    return await openRemoteFolder({ ...options, modelCache: new ModelCache(progress, cache, { store, catalogue, release }) });
  } catch (error) {
    release();
    throw error;
  }
}
