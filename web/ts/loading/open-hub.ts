/** A model of the Hugging Face hub in a browser: the stored one, or else the hub's. */
import { type HubSource, hubText } from '../hub-name.js';
import type { WireCreate } from '../protocol.js';
import { describe, hubAddress, hubKey, isOffline, withStored } from './hub.js';
import type { OpenFolder } from './folder.js';
import { openKeptOrRemote, type Opening } from './kept-or-remote.js';
import { ModelCache } from './model-cache.js';
import { readManifest } from './manifest.js';
import { openRemoteFolder } from './remote-folder.js';
import { canKeep, noStore, type Origin, storeFor, storedFolders, type StoredFolder } from './store.js';
import { openStoredFolder } from './stored-folder.js';

/**
 * A stored model is opened without a request, unless the caller asks for an update. The hub names a commit; its files never
 * change, so they are stored under the commit.
 */
export async function openHubModel(source: HubSource & { update: boolean }, options: WireCreate, opening: Opening): Promise<OpenFolder> {
  const { cache } = options;
  const { progress, signal } = opening;
  if (cache === 'required' && !canKeep()) throw noStore();
  const all = cache !== 'none' && canKeep() ? await storedFolders() : [];
  const manifest = await readManifest(options.manifest, signal);
  const here = all.find((folder) => folder.catalogue.complete && holds(folder, source));
  const stored = () => here && openStoredFolder(hubText(source), here.store, here.catalogue, manifest, progress);
  if (here && !source.update) {
    const folder = await stored();
    if (folder) return folder;
  }
  let repository;
  try {
    repository = await describe(source, signal);
  } catch (error) {
    if (!isOffline(error, signal)) throw error;
    const folder = await stored();
    if (!folder) throw withStored(error, namesOf(all));
    progress.warn(`${error.message} The model that is kept in this browser is used as it is.`);
    return folder;
  }
  const { commit } = repository;
  const address = hubAddress(source, repository);
  const store = cache !== 'none' && canKeep() ? await storeFor(hubKey(source, commit), true) : undefined;
  if (cache === 'required' && !store) throw noStore();
  if (!store) {
    if (cache === 'preferred') progress.warn('This browser keeps no files here: the model is held in memory, and downloaded again next time.');
    return openRemoteFolder({ ...opening, address, manifest, modelCache: new ModelCache(progress, cache) });
  }
  const { endpoint, name, revision } = source;
  const old = (await store.catalogue()).origin;
  const revisions = new Set([...(old?.from === 'hub' ? old.revisions : []), revision]);
  const origin: Origin = { from: 'hub', endpoint, name, commit, revisions: [...revisions] };
  const folder = await openKeptOrRemote({ ...opening, address, manifest, cache, store, origin });
  folder.complete.then(() => forgetOlder(source, commit, all)).catch(() => {});
  return folder;
}

function holds({ catalogue: { origin } }: StoredFolder, { endpoint, name, revision }: HubSource): boolean {
  if (origin?.from !== 'hub' || origin.endpoint !== endpoint || origin.name !== name) return false;
  return origin.commit === revision || origin.revisions.includes(revision);
}

/** Removes the older commits of a branch that has a newer one here. */
async function forgetOlder(source: HubSource, commit: string, all: StoredFolder[]): Promise<void> {
  for (const folder of all) {
    const { origin } = folder.catalogue;
    if (origin?.from !== 'hub' || origin.commit === commit || !holds(folder, source) || origin.commit === source.revision) continue;
    origin.revisions = origin.revisions.filter((revision) => revision !== source.revision);
    if (origin.revisions.length === 0) await folder.remove();
    else await folder.store.save(folder.catalogue);
  }
}

/** The models that need no network. */
function namesOf(all: StoredFolder[]): string[] {
  return all.flatMap(({ catalogue: { complete, origin } }) => {
    return complete && origin?.from === 'hub' ? [hubText({ name: origin.name, revision: origin.revisions[0] ?? origin.commit })] : [];
  });
}
