/** A model in files that the user chose or dropped. They are read in place, without a copy. */
import { WordloomError } from '../errors.js';
import type { DirectoryHandle } from '../types.js';
import type { HostFile } from '../wordloom_web.js';
import { wrongHash } from './download.js';
import type { OpenFolder } from './folder.js';
import type { Manifest } from './manifest.js';
import { unpackedFiles } from './packed.js';
import { sha256OfFile } from './sha256.js';
import { BlobReader } from './sink.js';

export async function openLocalFolder(
  label: string,
  files: { name: string; file: File }[],
  manifest: Manifest,
): Promise<OpenFolder> {
  const opened = await Promise.all(files.map(({ name, file }) => openLocalFile(label, name, file)));
  for (const { name, size, read } of opened) {
    const expected = manifest[name];
    if (expected === undefined) continue;
    const hash = sha256OfFile(size, read);
    if (hash !== expected) throw wrongHash(name, label, hash, expected);
  }
  const unpacked = await unpackedFiles(label, opened);
  return { host: { label, files: unpacked }, complete: Promise.resolve(), failure: () => undefined, close: () => {} };
}

async function openLocalFile(label: string, name: string, file: File): Promise<HostFile> {
  const read = await reading(file);
  return {
    name,
    size: file.size,
    arrived: () => Promise.resolve(),
    read(offset, length) {
      try {
        return read(offset, length);
      } catch (error) {
        // Files are read on demand, and may be gone or changed by then.
        const why = 'could not be read; it may have been moved or changed. Choose the folder again';
        throw new WordloomError('input', `${label}/${name} ${why}.`, { cause: error });
      }
    },
  };
}

/** Workers can read files synchronously; elsewhere, the file is read in advance. */
async function reading(file: File): Promise<(offset: number, length: number) => Uint8Array> {
  if (typeof FileReaderSync === 'function') {
    const reader = new BlobReader(file);
    return (offset, length) => reader.read(offset, length);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  return (offset, length) => bytes.subarray(offset, offset + length);
}

/** The files in a directory, without subdirectories. */
export async function filesIn(handle: DirectoryHandle): Promise<{ name: string; file: File }[]> {
  const files: { name: string; file: File }[] = [];
  for await (const entry of (handle as FileSystemDirectoryHandle).values()) {
    if (entry.kind === 'file') files.push({ name: entry.name, file: await entry.getFile() });
  }
  return files;
}
