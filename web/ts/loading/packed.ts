/** Compressed files of a Firefox model, as they are published. The wasm module has no decoder, and every platform has one. */
import { WordloomError } from '../errors.js';
import type { HostFile } from '../wordloom_web.js';
import { MemorySink } from './sink.js';

const GZ = '.gz';
const PACKED = /^(?:model\.|(?:src|trg)?vocab\.|lex).*\.(?:bin|spm)\.gz$/;
/** Bytes that a file may always hold, besides twice its own length, as natively. */
const EXPANSION = 64 << 20;

/** The same files, those of a Firefox model decompressed in memory. */
export async function unpackedFiles(label: string, files: HostFile[]): Promise<HostFile[]> {
  const names = files.map(({ name }) => name);
  if (names.includes('config.json')) return files;
  const isPacked = (name: string) => PACKED.test(name) && !names.includes(name.slice(0, -GZ.length));
  return Promise.all(files.map((file) => (isPacked(file.name) ? unpacked(label, file) : file)));
}

async function unpacked(label: string, file: HostFile): Promise<HostFile> {
  const { name, size } = file;
  const sink = new MemorySink();
  const limit = EXPANSION + 2 * size;
  try {
    const packed = new Blob([file.read(0, size) as Uint8Array<ArrayBuffer>]);
    const reader = packed.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      sink.append(next.value);
      if (sink.length > limit) throw new Error(`it holds more than ${limit} bytes`);
    }
  } catch (error) {
    const why = `cannot be decompressed (${(error as Error).message}); download it again`;
    throw new WordloomError('input', `${label}/${name} ${why}.`, { cause: error });
  }
  return {
    name: name.slice(0, -GZ.length),
    size: sink.length,
    arrived: () => Promise.resolve(),
    read: (offset, length) => sink.read(offset, length),
  };
}
