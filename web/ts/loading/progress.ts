import type { ProgressEvent } from '../types.js';

/** Before the weights come, the other files are taken for this part of all bytes. */
const SMALL_PART = 0.005;
const WEIGHTS = /\.(safetensors|bin)$/;

/** Reports the bytes of all files at limited intervals, and always the last byte of a file. `loaded / total` never goes back. */
export class DownloadProgress {
  static readonly #EVERY_MS = 40;
  readonly #report: (event: ProgressEvent) => void;
  readonly #files = new Map<string, { loaded: number; total: number | undefined }>();
  #lastTold = 0;
  /** Whether an index names the length of every file. */
  #known = false;
  /** The file of the last event. */
  #last: string | undefined;
  /** The largest `loaded / total` so far. */
  #part = 0;

  constructor(report: (event: ProgressEvent) => void) {
    this.#report = report;
  }

  /** The lengths of all files, from an index. Other files may come in their place. */
  expect(files: readonly (readonly [name: string, size: number])[]): void {
    for (const [name, total] of files) this.#files.set(name, { loaded: 0, total });
    this.#known = files.length > 0;
  }

  /** From now on, these are all files. */
  only(names: readonly string[]): void {
    for (const name of this.#files.keys()) if (!names.includes(name)) this.#files.delete(name);
    if (this.#last !== undefined) this.#tell(this.#last);
  }

  /** `total` is undefined until the server has sent a length. */
  update(name: string, loaded: number, total: number | undefined, fromCache = false): void {
    const before = this.#files.get(name);
    this.#files.set(name, { loaded, total });
    const now = Date.now();
    const news = !before || before.total !== total || loaded === total;
    if (!news && now - this.#lastTold < DownloadProgress.#EVERY_MS) return;
    this.#lastTold = now;
    this.#tell(name, fromCache);
  }

  #tell(name: string, fromCache = false): void {
    this.#last = name;
    let loaded = 0;
    let total = 0;
    let small = 0;
    let known = this.#known;
    for (const [name, file] of this.#files) {
      const length = file.total ?? file.loaded;
      // the lengths of weights in several files come one by one, before their first byte
      if (!WEIGHTS.test(name)) small += length;
      else known ||= file.loaded > 0;
      loaded += file.loaded;
      total += length;
    }
    if (!known) total = Math.ceil(small / SMALL_PART) || 1;
    // after a low estimate, the part stands still until it is true
    if (loaded < this.#part * total) total = Math.floor(loaded / this.#part);
    this.#part = loaded / total || 0;
    const { loaded: fileLoaded = 0, total: fileTotal = fileLoaded } = this.#files.get(name) ?? {};
    this.#report({ stage: 'download', file: name, loaded, total, fileLoaded, fileTotal, fromCache });
  }

  warn(message: string): void {
    this.#report({ stage: 'warning', message });
  }
}
