/** A stored model in the origin's private file system: `wordloom/KEY/` with its files and a catalogue. */
import { WordloomError } from '../errors.js';
import type { WireSource } from '../protocol.js';
import type { Languages } from '../types.js';
import { folderUrl } from './address.js';
import { sha256Of } from './sha256.js';
import type { Version } from './http.js';
import { later, PATIENCE_MS } from './sink.js';

const ROOT = 'wordloom';
const CATALOGUE = 'catalogue.json';

export interface Entry extends Version {
  size: number;
  /** The hash, if it was checked. */
  sha256?: string | undefined;
}

/** Where a stored model came from. */
export type Origin =
  | { from: 'bundle' }
  /** Without the query, which may hold a signature. */
  | { from: 'url'; url: string }
  | { from: 'hub'; endpoint: string; name: string; commit: string; revisions: string[] };

/** What a stored model is, for lists. */
export interface About {
  family: string;
  languages: Languages;
  /** Source and target of a model of one pair, by its `tokenizer_config.json`. */
  pair: [string, string] | null;
}

export interface Catalogue {
  /** Whether every file is complete and checked. */
  complete: boolean;
  files: Record<string, Entry>;
  origin?: Origin | undefined;
  about?: About | undefined;
}

/** The name of a model's folder, from its address. Another address is another model. */
export function keyOf(address: string): string {
  return sha256Of(address).slice(0, 32);
}

export function lockName(key: string): string {
  return `${ROOT}/${key}`;
}

export function originOf(source: Extract<WireSource, { from: 'url' | 'bundle' }>): Origin {
  if (source.from === 'bundle') return { from: 'bundle' };
  const url = folderUrl(source.url);
  url.search = '';
  return { from: 'url', url: url.href };
}

/** Undefined without a file system: private windows, insecure origins, old browsers. */
export async function storeFor(key: string, create: boolean): Promise<Store | undefined> {
  try {
    const root = await navigator.storage.getDirectory();
    const all = await root.getDirectoryHandle(ROOT, { create });
    return new Store(key, await all.getDirectoryHandle(key, { create }));
  } catch {
    return undefined;
  }
}

export interface StoredFolder {
  store: Store;
  catalogue: Catalogue;
  remove(): Promise<void>;
}

/** Every model of this origin, complete or not. */
export async function storedFolders(): Promise<StoredFolder[]> {
  try {
    const root = await navigator.storage.getDirectory();
    const all = await root.getDirectoryHandle(ROOT);
    const folders: StoredFolder[] = [];
    for await (const [key, handle] of all.entries()) {
      if (handle.kind !== 'directory') continue;
      const store = new Store(key, handle);
      const remove = () => all.removeEntry(key, { recursive: true });
      folders.push({ store, catalogue: await store.catalogue(), remove });
    }
    return folders;
  } catch {
    return [];
  }
}

export class Store {
  /** The name of the folder. */
  readonly key: string;
  readonly directory: FileSystemDirectoryHandle;
  /** The last pending change. Changes run one at a time, in order. */
  #changing: Promise<void> = Promise.resolve();

  constructor(key: string, directory: FileSystemDirectoryHandle) {
    this.key = key;
    this.directory = directory;
  }

  /** Reads the catalogue. A missing or damaged catalogue is empty. */
  async catalogue(): Promise<Catalogue> {
    try {
      const handle = await this.directory.getFileHandle(CATALOGUE);
      const found = JSON.parse(await (await handle.getFile()).text()) as Catalogue;
      if (typeof found.files === 'object' && found.files !== null) return found;
    } catch {
      // As if nothing was stored.
    }
    return { complete: false, files: {} };
  }

  /** Writes `catalogue` after pending changes. Its loss only costs another download. */
  save(catalogue: Catalogue): Promise<void> {
    return this.#change(() => this.#write(JSON.stringify(catalogue)));
  }

  remove(name: string): Promise<void> {
    return this.#change(() => this.directory.removeEntry(name));
  }

  /** Removes a file from disk and from the catalogue: the next visit downloads it. */
  async forget(name: string, catalogue: Catalogue): Promise<void> {
    delete catalogue.files[name];
    catalogue.complete = false;
    await this.remove(name);
    await this.save(catalogue);
  }

  /** Forgets the file that the engine calls damaged, by its name in messages. False if it is not stored. */
  async forgetDamaged(label: string, catalogue: Catalogue): Promise<boolean> {
    const name = Object.keys(catalogue.files).find((name) => label === name || label.endsWith(`/${name}`));
    if (name !== undefined) await this.forget(name, catalogue);
    return name !== undefined;
  }

  /** Queues a change. Failures and slow changes are ignored. */
  #change(work: () => Promise<void>): Promise<void> {
    this.#changing = this.#changing.then(() => Promise.race([work(), later(PATIENCE_MS)])).catch(() => {});
    return this.#changing;
  }

  async #write(text: string): Promise<void> {
    const handle = await (await this.directory.getFileHandle(CATALOGUE, { create: true })).createSyncAccessHandle();
    try {
      const bytes = new TextEncoder().encode(text);
      handle.truncate(0);
      handle.write(bytes, { at: 0 });
      handle.flush();
    } finally {
      handle.close();
    }
  }

  /** A snapshot of a file, or undefined. */
  async file(name: string): Promise<File | undefined> {
    try {
      return await (await this.directory.getFileHandle(name)).getFile();
    } catch {
      return undefined;
    }
  }
}

/** Bytes that this origin can still write. */
export async function room(): Promise<{ free: number; quota: number } | undefined> {
  try {
    const { quota, usage } = await navigator.storage.estimate();
    return quota === undefined ? undefined : { quota, free: Math.max(0, quota - (usage ?? 0)) };
  } catch {
    return undefined;
  }
}

/** Whether files can be written and read synchronously: in workers with a private file system. */
export function canKeep(): boolean {
  // pages without https have no handles
  const handle = (globalThis as Partial<typeof globalThis>).FileSystemFileHandle;
  return typeof FileReaderSync === 'function' && handle !== undefined && 'createSyncAccessHandle' in handle.prototype;
}

export function noStore(): WordloomError {
  const why = 'this browser keeps no files here (a private window, a page without https, or no worker)';
  return new WordloomError('memory', `cache is "required", but ${why}. Use cache: "preferred" to do without.`);
}

export function isQuota(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'QuotaExceededError';
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/**
 * Holds the lock of one model until `release` is called, so that only one of several tabs downloads. Without locks, every tab
 * downloads, and only one can write to the files.
 */
export async function acquire(key: string, signal: AbortSignal, waiting: () => void): Promise<() => void> {
  const locks = globalThis.navigator?.locks;
  if (!locks) return () => {};
  const take = (options: LockOptions) =>
    new Promise<(() => void) | undefined>((granted, failed) => {
      locks
        .request(lockName(key), options, (lock) => {
          if (!lock) return granted(undefined);
          return new Promise<void>((release) => granted(() => release()));
        })
        .catch(failed);
    });
  const atOnce = await take({ ifAvailable: true });
  if (atOnce) return atOnce;
  waiting();
  return (await take({ signal }))!;
}
