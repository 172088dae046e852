import type { ProgressEvent } from '../types.js';

/** Reports the bytes of all files at limited intervals, and always the last byte of a file. */
export class DownloadProgress {
  static readonly #EVERY_MS = 40;
  readonly #report: (event: ProgressEvent) => void;
  readonly #files = new Map<string, { loaded: number; total: number | undefined }>();
  #lastTold = 0;

  constructor(report: (event: ProgressEvent) => void) {
    this.#report = report;
  }

  /** `total` is undefined until the server has sent a length. */
  update(name: string, loaded: number, total: number | undefined, fromCache = false): void {
    const before = this.#files.get(name);
    this.#files.set(name, { loaded, total });
    const now = Date.now();
    const news = !before || before.total !== total || loaded === total;
    if (!news && now - this.#lastTold < DownloadProgress.#EVERY_MS) return;
    this.#lastTold = now;
    let sum = { loaded: 0, total: 0 };
    for (const file of this.#files.values()) {
      sum = { loaded: sum.loaded + file.loaded, total: sum.total + (file.total ?? file.loaded) };
    }
    this.#report({ stage: 'download', file: name, ...sum, fileLoaded: loaded, fileTotal: total ?? loaded, fromCache });
  }

  warn(message: string): void {
    this.#report({ stage: 'warning', message });
  }
}
