import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** SHA-256 of a stream of chunks (`crypto.subtle` needs all bytes at once). */
export class Sha256 {
  readonly #hash = sha256.create();

  update(bytes: Uint8Array): this {
    this.#hash.update(bytes);
    return this;
  }

  hex(): string {
    return bytesToHex(this.#hash.digest());
  }
}

export function sha256Of(text: string): string {
  return new Sha256().update(new TextEncoder().encode(text)).hex();
}

/** The hash of a file of `size` bytes that `read` reads. */
export function sha256OfFile(size: number, read: (offset: number, length: number) => Uint8Array): string {
  const STEP = 1 << 20;
  const hash = new Sha256();
  for (let offset = 0; offset < size; offset += STEP) hash.update(read(offset, Math.min(STEP, size - offset)));
  return hash.hex();
}
