/** The hash that a file must have. */
import { sha1 } from '@noble/hashes/legacy.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { Sha256 } from './sha256.js';

/** `git`: the id of git's blob, which the hub names for files outside of its large file storage. */
export interface Checksum {
  of: 'sha256' | 'git';
  hex: string;
}

export interface Hash {
  update(bytes: Uint8Array): unknown;
  hex(): string;
}

/** Starts a hash. `size` is the length of the file, which is a part of git's id. */
export function startHash({ of }: Checksum, size: number | undefined): Hash | undefined {
  if (of === 'sha256') return new Sha256();
  return size === undefined ? undefined : new BlobId(size);
}

class BlobId implements Hash {
  readonly #hash = sha1.create();

  constructor(size: number) {
    this.#hash.update(new TextEncoder().encode(`blob ${size}\0`));
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  hex(): string {
    return bytesToHex(this.#hash.digest());
  }
}
