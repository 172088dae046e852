/** The download of one file: resumed after interruptions, counted, checked, and readable meanwhile. */
import { aborted, WordloomError } from '../errors.js';
import type { HostFile } from '../wordloom_web.js';
import { type Checksum, type Hash, startHash } from './checksum.js';
import { requestFile, type Answer, type FileRequest, Interrupted, pauseBefore, sameVersion, type Version } from './http.js';
import type { Sink } from './sink.js';
import { sleep } from './sleep.js';

export interface DownloadOptions {
  name: string;
  url: string;
  sink: Sink;
  /** The size and version of the bytes that `sink` has from an earlier visit. */
  known: ({ size: number } & Version) | undefined;
  checksum: Checksum | undefined;
  /** What names the checksum, in messages. */
  source: string;
  /** The size that an index names. */
  size?: number | undefined;
  /** Headers, and the error without access. */
  request?: Pick<FileRequest, 'headers' | 'denied'>;
  /** Whether `sink` outlives this tab. */
  kept: boolean;
  signal: AbortSignal;
  update(loaded: number, total: number | undefined): void;
  /** Another sink with the same bytes, when the present one is full. */
  outOfRoom(error: unknown): Sink;
}

/** A connection without data for this time counts as interrupted. */
const STALLED_MS = 60_000;

interface Waiter {
  end: number;
  resolve(): void;
  reject(error: unknown): void;
}

export class Download implements HostFile {
  readonly name: string;
  readonly #options: DownloadOptions;
  #sink: Sink;
  #size: number | undefined;
  #version: Version;
  #answer: Answer | undefined;
  #waiters: Waiter[] = [];
  #failure: { error: unknown } | undefined;
  #finished = false;
  #hash: Hash | undefined;
  #checked: string | undefined;

  constructor(options: DownloadOptions) {
    this.name = options.name;
    this.#options = options;
    this.#sink = options.sink;
    this.#size = options.known?.size ?? options.size;
    this.#version = options.known ?? {};
    // Bytes of an unknown version are useless.
    if (!options.known && this.#sink.length > 0) this.#sink.reset();
    if (options.known && this.#sink.length > options.known.size) this.#sink.reset();
  }

  get size(): number {
    if (this.#size === undefined) throw new Error(`the length of ${this.name} is not known yet`);
    return this.#size;
  }

  /** The length, if known. */
  get knownSize(): number | undefined {
    return this.#size;
  }

  get version(): Version {
    return this.#version;
  }

  /** Number of received bytes. */
  get loaded(): number {
    return this.#sink.length;
  }

  get failure(): unknown {
    return this.#failure?.error;
  }

  /** The file's hash, if it was checked. */
  get checkedSha256(): string | undefined {
    return this.#checked;
  }

  read(offset: number, length: number): Uint8Array {
    return this.#sink.read(offset, length);
  }

  arrived(end: number): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#has(end)) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ end, resolve, reject }));
  }

  /** Requests the file's length. `HEAD` leaves the connection free until this file is next. */
  async open(method: 'GET' | 'HEAD'): Promise<void> {
    const whole = this.#size !== undefined && this.#sink.length === this.#size;
    const known = method === 'HEAD' && this.#options.size !== undefined;
    if (!whole && !known) {
      let answer: Answer | undefined;
      for (let failures = 0; !answer; failures++) {
        try {
          answer = await this.#request(method, this.#sink.length);
        } catch (error) {
          await this.#recover(error, failures);
        }
      }
      if (this.#contradicts(answer)) {
        // No byte was read yet: start again with the server's present version.
        void answer.body?.cancel().catch(() => {});
        this.#sink.reset();
        this.#size = undefined;
        this.#version = {};
        answer = await this.#request(method, 0);
      }
      this.#size = answer.total;
      this.#version = answer.version;
      if (method === 'GET') this.#answer = answer;
    }
    this.#options.update(this.#sink.length, this.#size);
    // A file without a length in advance has one at the end.
    if (this.#size === undefined) await this.receive();
  }

  /** Receives the remaining bytes and checks all of them. Later calls do nothing. */
  async receive(): Promise<void> {
    if (this.#finished || this.#failure) return;
    try {
      if (this.#options.checksum) this.#hash = this.#hashOfPresent(this.#options.checksum);
      await this.#receiveRest();
      this.#check();
      await this.#sink.finish();
      this.#finished = true;
      this.#wake();
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  fail(error: unknown): void {
    if (this.#finished) return;
    this.#failure ??= { error };
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  close(): void {
    this.fail(aborted('The model has been closed.'));
    void this.#answer?.body?.cancel().catch(() => {});
    this.#sink.close();
  }

  async #receiveRest(): Promise<void> {
    let failures = 0;
    while (this.#size === undefined || this.#sink.length < this.#size) {
      const before = this.#sink.length;
      try {
        const answer = this.#answer ?? (await this.#request('GET', before));
        this.#answer = undefined;
        if (this.#contradicts(answer)) throw this.#changed();
        await this.#drain(answer);
        if (this.#size === undefined) {
          this.#size = this.#sink.length;
          this.#options.update(this.#size, this.#size);
        } else if (this.#sink.length < this.#size) {
          throw new Interrupted(`${this.#options.url} was cut off`);
        }
      } catch (error) {
        if (this.#sink.length > before) failures = 0;
        await this.#recover(error, failures++);
      }
    }
  }

  /** Waits before another attempt, or throws if there is none. */
  async #recover(error: unknown, failures: number): Promise<void> {
    if (this.#options.signal.aborted) throw aborted();
    if (!(error instanceof Interrupted)) throw error;
    const wait = pauseBefore(failures, error);
    if (wait === undefined) throw this.#unreachable(error, globalThis.navigator?.onLine === false);
    await sleep(wait, this.#options.signal);
  }

  #request(method: 'GET' | 'HEAD', from: number): Promise<Answer> {
    const { url, kept, signal, request } = this.#options;
    return requestFile(url, { ...request, method, from, version: this.#version, keptElsewhere: kept, signal });
  }

  async #drain(answer: Answer): Promise<void> {
    if (!answer.body) return;
    const reader = answer.body.getReader();
    let position = answer.start;
    try {
      while (true) {
        const { done, value } = await this.#readChunk(reader);
        if (done) return;
        this.#take(value, position);
        position += value.length;
      }
    } finally {
      void reader.cancel().catch(() => {});
    }
  }

  async #readChunk(reader: ReadableStreamDefaultReader<Uint8Array>) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stalled = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Interrupted(`${this.#options.url} has stalled`)), STALLED_MS);
    });
    try {
      return await Promise.race([reader.read(), stalled]);
    } catch (error) {
      if (this.#options.signal.aborted) throw aborted();
      throw error instanceof Interrupted ? error : new Interrupted(`${this.#options.url} was cut off`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Adds bytes from `position` on. Some may be known already, because a server without ranges sends the whole file. */
  #take(chunk: Uint8Array, position: number): void {
    const known = Math.min(Math.max(this.#sink.length - position, 0), chunk.length);
    if (known > 0) {
      const here = this.#sink.read(position, known);
      if (here.some((byte, index) => byte !== chunk[index])) throw this.#changed();
    }
    const news = chunk.subarray(known);
    if (news.length === 0) return;
    if (this.#size !== undefined && this.#sink.length + news.length > this.#size) {
      throw new WordloomError('network', `${this.#options.url} sent more than the ${this.#size} bytes that it announced.`);
    }
    try {
      this.#sink.append(news);
    } catch (error) {
      this.#sink = this.#options.outOfRoom(error);
      this.#sink.append(news);
    }
    this.#hash?.update(news);
    this.#options.update(this.#sink.length, this.#size);
    this.#wake();
  }

  #hashOfPresent(checksum: Checksum): Hash | undefined {
    const hash = startHash(checksum, this.#size);
    const STEP = 1 << 20;
    for (let at = 0; at < this.#sink.length; at += STEP) {
      hash?.update(this.#sink.read(at, Math.min(STEP, this.#sink.length - at)));
    }
    return hash;
  }

  #check(): void {
    const expected = this.#options.checksum;
    if (!expected || !this.#hash) return;
    const found = this.#hash.hex();
    if (found === expected.hex) {
      if (expected.of === 'sha256') this.#checked = found;
      return;
    }
    this.#sink.reset();
    throw wrongHash(this.name, this.#options.url, found, expected.hex, this.#options.source);
  }

  /** Whether the bytes up to `end` have arrived. The last byte counts only after the check of the whole file. */
  #has(end: number): boolean {
    return this.#finished || (end <= this.#sink.length && end !== this.#size);
  }

  #wake(): void {
    const ready = this.#waiters.filter(({ end }) => this.#has(end));
    this.#waiters = this.#waiters.filter((waiter) => !ready.includes(waiter));
    for (const waiter of ready) waiter.resolve();
  }

  #contradicts(answer: Answer): boolean {
    const otherSize = this.#size !== undefined && answer.total !== undefined && answer.total !== this.#size;
    return otherSize || answer.start > this.#sink.length || !sameVersion(this.#version, answer.version);
  }

  #changed(): WordloomError {
    this.#sink.reset();
    const what = `${this.#options.url} has changed on the server while it was being downloaded`;
    return new WordloomError('network', `${what}. Load the model again.`, { code: 'changed' });
  }

  #unreachable(error: Interrupted, offline: boolean): WordloomError {
    const { url, kept } = this.#options;
    const got = this.#sink.length;
    if (got === 0) {
      const why = offline ? `${url} could not be downloaded: there is no network` : error.message;
      const advice = offline ? 'Connect' : 'Check the address, the connection, that the server allows this page (CORS), and this page the server (connect-src)';
      const code = offline ? 'offline' : 'not-downloaded';
      return new WordloomError('network', `${why}. ${advice}, and try again.`, { cause: error, code, values: { url } });
    }
    const bytes = `${got} of ${this.#size ?? 'an unknown number of'} bytes`;
    const later = kept ? 'the download goes on where it stopped' : 'the download begins anew';
    const message = `${error.message}: ${bytes} have arrived. Check the connection and try again; ${later}.`;
    return new WordloomError('network', message, { cause: error, code: 'interrupted', values: { got } });
  }
}

export function wrongHash(name: string, where: string, found: string, expected: string, source = 'the manifest'): WordloomError {
  const hash = expected.length === 40 ? 'git hash' : 'SHA-256';
  const what = `${name} is not the file that ${source} names: its ${hash} is ${found}, expected ${expected} (${where})`;
  return new WordloomError('integrity', `${what}. It was damaged on the way or replaced: try again${source === 'the hub' ? '' : `, or check ${source}`}.`, {
    code: 'wrong-file',
    values: { name },
  });
}
