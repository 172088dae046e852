/** Stores a model's downloads: in the origin's private file system if it exists and has room, or else in memory. */
import { WordloomError } from '../errors.js';
import type { CreateOptions } from '../types.js';
import type { Address } from './address.js';
import { Download } from './download.js';
import type { Manifest } from './manifest.js';
import type { DownloadProgress } from './progress.js';
import { MemorySink, OpfsSink, type Sink } from './sink.js';
import { type About, type Catalogue, isQuota, megabytes, room, type Store } from './store.js';

interface DownloadFor {
  address: Address;
  manifest: Manifest;
  signal: AbortSignal;
}

export class ModelCache {
  readonly progress: DownloadProgress;
  readonly #store: Store | undefined;
  readonly #catalogue: Catalogue;
  readonly #required: boolean;
  readonly #release: () => void;
  readonly #inMemory = new Set<Download>();
  #full = false;
  /** Whether the engine has refused a file: then the model never becomes complete. */
  #damaged = false;

  constructor(
    progress: DownloadProgress,
    cache: NonNullable<CreateOptions['cache']>,
    kept?: { store: Store; catalogue: Catalogue; release: () => void },
  ) {
    this.progress = progress;
    this.#store = kept?.store;
    this.#catalogue = kept?.catalogue ?? { complete: false, files: {} };
    this.#release = kept?.release ?? (() => {});
    this.#required = cache === 'required';
  }

  async download(name: string, { address, manifest, signal }: DownloadFor): Promise<Download> {
    const url = address.url(name);
    const sink = await this.#sink(name);
    const kept = sink instanceof OpfsSink;
    const download: Download = new Download({
      name,
      url,
      sink,
      known: kept ? this.#catalogue.files[name] : undefined,
      checksum: manifest[name] === undefined ? address.checksum?.(name) : { of: 'sha256', hex: manifest[name] },
      source: manifest[name] === undefined ? 'the hub' : 'the manifest',
      size: address.size?.(name),
      request: { headers: address.headers, denied: address.denied },
      kept,
      signal,
      update: (loaded, total) => this.progress.update(name, loaded, total),
      outOfRoom: (error) => this.#spill(download, sink, error),
    });
    if (!kept) this.#inMemory.add(download);
    return download;
  }

  /** Requests the file's length and stores it, so that a later visit can resume. */
  async opened(file: Download, method: 'GET' | 'HEAD'): Promise<void> {
    await file.open(method);
    if (!this.#store || this.#inMemory.has(file)) return;
    this.#catalogue.files[file.name] = { size: file.size, ...file.version };
    await this.#store.save(this.#catalogue);
  }

  /** Marks the file as complete and equal to the manifest. */
  async received(file: Download): Promise<void> {
    const entry = this.#catalogue.files[file.name];
    if (!entry || this.#inMemory.has(file)) return;
    entry.sha256 = file.checkedSha256;
    entry.size = file.size;
  }

  /** Removes a wrong or empty file. */
  async failed(file: Download, error: unknown): Promise<void> {
    const damaged = error instanceof WordloomError && error.kind === 'integrity';
    const useless = file.loaded === 0 || damaged;
    file.close();
    if (!this.#store || this.#inMemory.has(file) || !useless) return;
    await this.#store.forget(file.name, this.#catalogue);
  }

  /** Removes the stored file that the engine calls damaged, if there is one. */
  async forget(damaged: string): Promise<boolean> {
    this.#damaged = true;
    return this.#store !== undefined && this.#store.forgetDamaged(damaged, this.#catalogue);
  }

  /** Marks the model as complete: the next visit needs no network, and other tabs need not wait. */
  async completed(): Promise<void> {
    if (this.#store) {
      this.#catalogue.complete = this.#inMemory.size === 0 && !this.#damaged;
      await this.#store.save(this.#catalogue);
    }
    this.#release();
  }

  /** Stores what the model is. */
  async about(about: About): Promise<void> {
    if (!this.#store) return;
    this.#catalogue.about = about;
    await this.#store.save(this.#catalogue);
  }

  close(): void {
    this.#release();
  }

  /** Checks before a long download whether there is room for it. */
  async checkRoom(bytes: number): Promise<void> {
    const space = this.#store && (await room());
    if (!space || bytes <= space.free) return;
    const needs = `The model needs ${megabytes(bytes)} more, and this browser gives this site ${megabytes(space.quota)}`;
    if (this.#required) throw noRoom(`${needs}, of which ${megabytes(space.free)} are free.`);
  }

  async #sink(name: string): Promise<Sink> {
    if (!this.#store || this.#full) return new MemorySink();
    try {
      return await OpfsSink.open(this.#store.directory, name);
    } catch (error) {
      if (isQuota(error)) this.#tellFull(name, 0);
      else this.#tellUnkept(error);
      return new MemorySink();
    }
  }

  #spill(download: Download, sink: Sink, error: unknown): Sink {
    if (!(sink instanceof OpfsSink) || !isQuota(error)) throw error;
    this.#tellFull(download.name, sink.length, download.knownSize);
    const memory = sink.toMemory();
    this.#inMemory.add(download);
    sink.reset();
    sink.close();
    delete this.#catalogue.files[download.name];
    void this.#store?.remove(download.name);
    return memory;
  }

  #tellFull(name: string, written: number, size?: number): void {
    const of = size === undefined ? '' : `, after ${megabytes(written)} of ${megabytes(size)} of ${name}`;
    const what = `The space that this browser gives this site is used up${of}`;
    if (this.#required) throw noRoom(`${what}.`);
    if (!this.#full) this.progress.warn(`${what}: the model is held in memory, and will be downloaded again next time.`);
    this.#full = true;
  }

  #tellUnkept(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const what = 'The model cannot be kept in this browser';
    if (this.#required) throw new WordloomError('memory', `${what}: ${why}`, { cause: error });
    if (!this.#full) this.progress.warn(`${what} (${why}): it will be downloaded again next time.`);
    this.#full = true;
  }
}

function noRoom(what: string): WordloomError {
  const fix = 'Free space on the disk or in the settings of this site, or use cache: "preferred" to do without';
  return new WordloomError('memory', `${what} ${fix}.`, { code: 'no-storage' });
}
