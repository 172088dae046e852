/** A sentence's attention for NumPy: `np.load('attention.npz')['cross.2']` is `[heads, queries, keys]`. */
import { zipSync } from 'fflate';
import type { TracedSentence, TracedToken } from './trace-types.js';
import type { AttentionKind } from './types.js';

/** `weightsOf` gives the weights of one head. */
export async function npz(
  described: TracedSentence,
  weightsOf: (of: { kind: AttentionKind; layer: number; head: number }) => Promise<Float32Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const arrays: Record<string, Uint8Array> = {
    'source_tokens.npy': strings(described.sourceTokens),
    'target_tokens.npy': strings(described.targetTokens),
  };
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
      arrays[`${kind}.${layer}.npy`] = npy('<f4', [heads, queries, columns], new Uint8Array(weights.buffer));
    }
  }
  // uncompressed, as NumPy does: weights hardly compress
  return zipSync(arrays, { level: 0 }) as Uint8Array<ArrayBuffer>;
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
