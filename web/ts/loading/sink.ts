/** Where downloaded bytes go, and where they are read again. */

export interface Sink {
  /** Bytes so far. */
  readonly length: number;
  append(chunk: Uint8Array): void;
  read(offset: number, length: number): Uint8Array;
  /** Forgets what is there, to begin again. */
  reset(): void;
  /** All bytes are there; they stay readable. */
  finish(): Promise<void>;
  /** Lets go of the bytes; a later download may go on with them where they are kept. */
  close(): void;
}

/** The chunks as they came: one copy, in this tab. */
export class MemorySink implements Sink {
  #chunks: { start: number; bytes: Uint8Array }[] = [];
  length = 0;

  append(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push({ start: this.length, bytes: chunk });
    this.length += chunk.length;
  }

  read(offset: number, length: number): Uint8Array {
    let at = this.#find(offset);
    const first = this.#chunks[at];
    if (first && offset + length <= first.start + first.bytes.length) {
      return first.bytes.subarray(offset - first.start, offset - first.start + length);
    }
    const whole = new Uint8Array(length);
    for (let filled = 0; filled < length; at++) {
      const chunk = this.#chunks[at];
      if (!chunk) throw new RangeError('read beyond the bytes that have arrived');
      const from = offset + filled - chunk.start;
      const part = chunk.bytes.subarray(from, from + length - filled);
      whole.set(part, filled);
      filled += part.length;
    }
    return whole;
  }

  reset(): void {
    this.#chunks = [];
    this.length = 0;
  }

  async finish(): Promise<void> {}

  close(): void {
    this.reset();
  }

  /** The chunk that holds byte `offset`. */
  #find(offset: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#chunks[middle]!.start <= offset) low = middle;
      else high = middle;
    }
    return low;
  }
}

/** Read at once: each reading asks another process, and weights are hundreds of small tensors, one after the other. */
const BLOCK = 4 << 20;

/** Bytes of a file on disk, or of one that the user has chosen; readable from several tabs. */
export class BlobReader {
  readonly #blob: Blob;
  readonly #reader = new FileReaderSync();
  /** What was read last, and where it begins. */
  #block = new Uint8Array();
  #start = 0;

  constructor(blob: Blob) {
    this.#blob = blob;
  }

  read(offset: number, length: number): Uint8Array {
    if (offset < this.#start || offset + length > this.#start + this.#block.length) {
      // From a round number on: what is fused from three tensors is not read in the order of the file.
      this.#start = offset - (offset % BLOCK);
      const end = Math.max(offset + length, this.#start + BLOCK);
      this.#block = new Uint8Array(this.#reader.readAsArrayBuffer(this.#blob.slice(this.#start, end)));
    }
    const bytes = this.#block.subarray(offset - this.#start, offset - this.#start + length);
    // The end has been read: nothing follows, and the block need not stay.
    if (offset + length >= this.#blob.size) this.#block = new Uint8Array();
    return bytes;
  }
}

/** How long the private file system may take to answer: Chromium has been seen not to, where the quota is used up. */
export const PATIENCE_MS = 3000;

export function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A file of the origin's private file system. */
export class OpfsSink implements Sink {
  readonly #file: FileSystemFileHandle;
  #handle: FileSystemSyncAccessHandle | undefined;
  #finished: BlobReader | undefined;
  length: number;

  /** Keeps the bytes that are there. Fails where somebody else is writing to the file, or nobody answers. */
  static async open(directory: FileSystemDirectoryHandle, name: string): Promise<OpfsSink> {
    const file = await directory.getFileHandle(name, { create: true });
    const opening = file.createSyncAccessHandle();
    const handle = await Promise.race([opening, later(PATIENCE_MS)]);
    if (handle) return new OpfsSink(file, handle);
    opening.then((late) => late.close()).catch(() => {});
    throw new Error('its private file system does not answer');
  }

  private constructor(file: FileSystemFileHandle, handle: FileSystemSyncAccessHandle) {
    this.#file = file;
    this.#handle = handle;
    this.length = handle.getSize();
  }

  append(chunk: Uint8Array): void {
    const written = this.#open().write(chunk, { at: this.length });
    // Chromium does not throw where the quota is used up, but answers -1, as an unsigned number.
    if (written !== chunk.length) throw new DOMException('There is no more room.', 'QuotaExceededError');
    this.length += written;
  }

  read(offset: number, length: number): Uint8Array {
    if (this.#finished) return this.#finished.read(offset, length);
    const bytes = new Uint8Array(length);
    const read = this.#open().read(bytes, { at: offset });
    if (read < length) throw new RangeError('read beyond the bytes that have arrived');
    return bytes;
  }

  reset(): void {
    this.#open().truncate(0);
    this.length = 0;
  }

  async finish(): Promise<void> {
    const handle = this.#open();
    handle.truncate(this.length);
    handle.flush();
    // The snapshot is there before the exclusive handle goes: reads never find neither.
    this.#finished = new BlobReader(await this.#file.getFile());
    this.close();
  }

  close(): void {
    this.#handle?.close();
    this.#handle = undefined;
  }

  /** What has been written, in memory: for a disk that has no more room. */
  toMemory(): MemorySink {
    const sink = new MemorySink();
    const STEP = 1 << 20;
    while (sink.length < this.length) sink.append(this.read(sink.length, Math.min(STEP, this.length - sink.length)));
    return sink;
  }

  #open(): FileSystemSyncAccessHandle {
    if (!this.#handle) throw new DOMException('The file is closed.', 'InvalidStateError');
    return this.#handle;
  }
}
