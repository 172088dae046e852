/** Stores downloaded bytes and reads them. */

export interface Sink {
  /** Number of bytes so far. */
  readonly length: number;
  append(chunk: Uint8Array): void;
  read(offset: number, length: number): Uint8Array;
  /** Deletes all bytes. */
  reset(): void;
  /** Marks the bytes as complete; they stay readable. */
  finish(): Promise<void>;
  /** Releases the bytes. A later download can resume from stored bytes. */
  close(): void;
}

/** The received chunks, in the memory of this tab. */
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

/** Bytes of one read. Each read asks another process, and weights are hundreds of small, consecutive tensors. */
const BLOCK = 4 << 20;

/** Reads a file on disk or a file that the user chose, also from several tabs. */
export class BlobReader {
  readonly #blob: Blob;
  readonly #reader = new FileReaderSync();
  /** The block that was read last, and its position. */
  #block = new Uint8Array();
  #start = 0;

  constructor(blob: Blob) {
    this.#blob = blob;
  }

  read(offset: number, length: number): Uint8Array {
    if (offset < this.#start || offset + length > this.#start + this.#block.length) {
      // Aligned, because tensors that are fused from three are not read in the order of the file.
      this.#start = offset - (offset % BLOCK);
      const end = Math.max(offset + length, this.#start + BLOCK);
      this.#block = new Uint8Array(this.#reader.readAsArrayBuffer(this.#blob.slice(this.#start, end)));
    }
    const bytes = this.#block.subarray(offset - this.#start, offset - this.#start + length);
    // After the end of the file, free the block.
    if (offset + length >= this.#blob.size) this.#block = new Uint8Array();
    return bytes;
  }
}

/** Time limit for the private file system: Chromium may not answer when the quota is used up. A busy machine needs seconds. */
export const PATIENCE_MS = 10_000;

export function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A file of the origin's private file system. */
export class OpfsSink implements Sink {
  readonly #file: FileSystemFileHandle;
  #handle: FileSystemSyncAccessHandle | undefined;
  #finished: BlobReader | undefined;
  length: number;

  /** Opens the file with its bytes. Fails if another tab writes to it, or if the file system does not answer. */
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
    // When the quota is used up, Chromium does not throw but returns -1, as an unsigned number.
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
    // Take the snapshot before closing the exclusive handle, so that reads always find one of them.
    this.#finished = new BlobReader(await this.#file.getFile());
    this.close();
  }

  close(): void {
    this.#handle?.close();
    this.#handle = undefined;
  }

  /** Copies the written bytes to memory, for a full disk. */
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
