/** The models that this browser has stored, and their removal. Both work on a page and in a worker. */
import { string } from './check-input.js';
import { WordloomError } from './errors.js';
import { HUB, hubText } from './hub-name.js';
import { lockName, storedFolders } from './loading/store.js';
import type { Languages } from './types.js';

/** A model in the origin's private file system, complete or not. */
export interface StoredModel {
  /** Identifies it for `removeStoredModel`. */
  id: string;
  /** The `model` option that opens it: a name of the hub, or a URL. `null`: the bundled model, or that of a package. */
  model: string | null;
  /** The `endpoint` option of a name, unless it is the hub itself. */
  endpoint?: string;
  /** The commit of a model of the hub. */
  commit?: string;
  /** `false`: the rest is downloaded when it is opened. */
  complete: boolean;
  /** Bytes of all its files. */
  bytes: number;
  /** What the engine said of it, if it was opened once. */
  family: string | null;
  languages: Languages | null;
  /** Source and target language of a model of one pair, if its files name them. */
  pair: [string, string] | null;
}

/** The stored models of this origin; none without a private file system. Models of older versions are left out. */
export async function storedModels(): Promise<StoredModel[]> {
  const found: StoredModel[] = [];
  for (const { store, catalogue } of await storedFolders()) {
    const { origin, about, complete, files } = catalogue;
    const bytes = Object.values(files).reduce((sum, { size }) => sum + size, 0);
    // nothing is stored of an address that had no model
    if (!origin || bytes === 0) continue;
    const { family = null, languages = null, pair = null } = about ?? {};
    const rest = { id: store.key, complete, bytes, family, languages, pair };
    if (origin.from === 'hub') {
      const { name, commit, endpoint, revisions } = origin;
      const model = hubText({ name, revision: revisions[0] ?? commit });
      found.push({ ...rest, model, commit, ...(endpoint === HUB ? {} : { endpoint }) });
    } else {
      found.push({ ...rest, model: origin.from === 'url' ? origin.url : null });
    }
  }
  return found;
}

/** Removes a stored model. A translator that runs it keeps working, but cannot mute heads or replace a lost device. */
export async function removeStoredModel(id: string): Promise<void> {
  string(id, 'id');
  const folder = (await storedFolders()).find(({ store }) => store.key === id);
  if (!folder) return;
  const busy = new WordloomError('input', 'This model is being downloaded in a tab: stop that first.');
  const locks = globalThis.navigator?.locks;
  if (!locks) return folder.remove();
  await locks.request(lockName(id), { ifAvailable: true }, async (lock) => {
    if (!lock) throw busy;
    try {
      await folder.remove();
    } catch (error) {
      throw new WordloomError('input', `This model could not be removed: ${String(error)}.`, { cause: error });
    }
  });
}
