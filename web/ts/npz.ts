/** A sentence's attention for NumPy: `np.load('attention.npz')['cross.2']` is `[heads, queries, keys]`. */
import type { TracedSentence, TracedToken } from './trace-types.js';
import type { AttentionKind } from './types.js';

/** `weightsOf` gives the weights of one head. */
export async function npz(
  described: TracedSentence,
  weightsOf: (of: { kind: AttentionKind; layer: number; head: number }) => Promise<Float32Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const arrays: [name: string, data: Uint8Array][] = [
    ['source_tokens.npy', strings(described.sourceTokens)],
    ['target_tokens.npy', strings(described.targetTokens)],
  ];
  for (const { kind, layers, heads, queries } of described.kinds) {
    for (const layer of layers) {
      const first = await weightsOf({ kind, layer, head: 0 });
      if (first.length === 0) continue; // too many cells for a matrix; a trace file has the bands
      // a layer may lack the columns of sums that others of its kind have
      const columns = first.length / queries;
      const weights = new Float32Array(heads * queries * columns);
      weights.set(first);
      for (let head = 1; head < heads; head += 1) {
        weights.set(await weightsOf({ kind, layer, head }), head * queries * columns);
      }
      arrays.push([`${kind}.${layer}.npy`, npy('<f4', [heads, queries, columns], new Uint8Array(weights.buffer))]);
    }
  }
  return zip(arrays);
}

/** Texts in NumPy's layout: four bytes per character, padded to the longest. */
function strings(tokens: readonly TracedToken[]): Uint8Array {
  const characters = tokens.map(({ piece }) => Array.from(piece, (character) => character.codePointAt(0) ?? 0));
  const longest = characters.reduce((most, { length }) => Math.max(most, length), 1);
  const values = new Uint32Array(longest * tokens.length);
  characters.forEach((codes, index) => values.set(codes, index * longest));
  return npy(`<U${longest}`, [tokens.length], new Uint8Array(values.buffer));
}

/** NumPy's format, version 1.0: a header padded to 64 bytes, and the values. */
function npy(type: string, shape: readonly number[], data: Uint8Array): Uint8Array {
  const dictionary = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  const preamble = 10;
  const length = Math.ceil((preamble + dictionary.length + 1) / 64) * 64 - preamble;
  const file = new Uint8Array(preamble + length + data.length);
  file.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  file.set(new TextEncoder().encode(`${dictionary.padEnd(length - 1)}\n`), preamble);
  file.set(data, preamble + length);
  return file;
}

/** A zip archive without compression, as NumPy writes it: weights hardly compress. Names are ASCII. */
function zip(files: readonly (readonly [name: string, data: Uint8Array])[]): Uint8Array<ArrayBuffer> {
  const size = files.reduce((sum, [name, data]) => sum + 30 + 46 + 2 * name.length + data.length, 22);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  const shorts = (...values: number[]) => values.forEach((value) => (view.setUint16(at, value, true), (at += 2)));
  const longs = (...values: number[]) => values.forEach((value) => (view.setUint32(at, value, true), (at += 4)));
  const copy = (data: Uint8Array) => (bytes.set(data, at), (at += data.length));
  const named = files.map(([name, data]) => ({ name: new TextEncoder().encode(name), data, crc: crc32(data), start: 0 }));
  // version, flags, method, time, and the date 1980-01-01
  const how = [20, 0, 0, 0, 0x21];
  for (const file of named) {
    const { name, data, crc } = file;
    file.start = at;
    longs(0x04034b50);
    shorts(...how);
    longs(crc, data.length, data.length);
    shorts(name.length, 0);
    copy(name);
    copy(data);
  }
  const directory = at;
  for (const { name, data, crc, start } of named) {
    longs(0x02014b50);
    shorts(20, ...how);
    longs(crc, data.length, data.length);
    shorts(name.length, 0, 0, 0, 0);
    longs(0, start);
    copy(name);
  }
  const length = at - directory;
  longs(0x06054b50);
  shorts(0, 0, named.length, named.length);
  longs(length, directory);
  return bytes;
}

function crc32(data: Uint8Array): number {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
    return byte;
  });
  let crc = -1;
  for (const byte of data) crc = (crc >>> 8) ^ table[(crc ^ byte) & 255]!;
  return ~crc >>> 0;
}
