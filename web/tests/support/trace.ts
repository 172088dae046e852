/** An artificial trace of any length, as large as a real one. */
import { writeTensors, type Stored } from './safetensors.ts';

const HEADS = 8;
/** Number of layers of each kind in the bundled model. */
const LAYERS = { encoder: 4, decoder: 3, cross: 3 };

/** `tokens` on either side. Every head attends mostly to the position of its number, and a little around it. */
export function writeTrace(path: string, tokens: number): void {
  const words = Array.from({ length: tokens - 1 }, (_, index) => `word${index}`);
  const text = words.join(' ');
  let at = 0;
  const pieces = words.map((word, id) => {
    const range = [at, at + word.length];
    at += word.length + 1;
    return { id: id + 1, piece: `▁${word}`, special: false, range };
  });
  const end = { id: 0, piece: '</s>', special: true, range: null };
  const source = [...pieces, end];
  const target = [{ ...end, piece: '<pad>' }, ...source].map((token, index) => {
    return { ...token, log_probability: index === 0 ? null : -0.5, alternatives: [] };
  });
  const shape = [HEADS, tokens, tokens];
  const tensors = new Map<string, Stored>();
  const attention = Object.entries(LAYERS).flatMap(([kind, layers]) =>
    Array.from({ length: layers }, (_, layer) => {
      const weights = weightsOf(kind, layer, tokens);
      tensors.set(`0.${kind}.${layer}`, { dtype: 'F32', shape, bytes: Buffer.from(weights.buffer) });
      return { kind, layer, shape };
    }),
  );
  const sentence = {
    source: text,
    offset: 0,
    target: text,
    source_tokens: source,
    target_tokens: target,
    prompt: 1,
    attention,
    left_out: [],
  };
  const trace = { format: 'wordloom.trace', version: 1, model: 'made up', sentences: [sentence] };
  writeTensors(path, tensors, { 'wordloom.trace': JSON.stringify(trace) });
}

/** A trace of an encoder whose tokens see 8 neighbours on each side and the first token, which sees all. */
export function writeBands(path: string, tokens: number): void {
  const [radius, heads] = [8, 2];
  const token = (id: number): object => ({ id, piece: `▁word${id}`, special: false, range: null });
  const target = (id: number): object => ({ ...token(id), log_probability: id === 0 ? null : -0.5, alternatives: [] });
  const columns = 2 * radius + 2;
  const weights = new Float32Array(heads * tokens * columns).fill(1 / columns);
  const globals = new Float32Array(heads * tokens).fill(1 / columns);
  const floats = (values: Float32Array<ArrayBuffer>, shape: number[]): Stored => {
    return { dtype: 'F32', shape, bytes: Buffer.from(values.buffer) };
  };
  const tensors = new Map<string, Stored>([
    ['0.encoder.0', floats(weights, [heads, tokens, columns])],
    ['0.encoder.0.global', floats(globals, [heads, 1, tokens])],
  ]);
  const bands = { block: 1, left: radius, right: radius, side_tokens: [0], global_queries: [0] };
  const sentence = {
    source: '',
    offset: 0,
    target: '',
    source_tokens: Array.from({ length: tokens }, (_, id) => token(id)),
    target_tokens: [target(0), target(1)],
    prompt: 1,
    attention: [{ kind: 'encoder', layer: 0, shape: [heads, tokens, tokens], bands }],
    left_out: [],
  };
  const trace = { format: 'wordloom.trace', version: 2, model: 'made up', sentences: [sentence] };
  writeTensors(path, tensors, { 'wordloom.trace': JSON.stringify(trace) });
}

function weightsOf(kind: string, layer: number, tokens: number): Float32Array<ArrayBuffer> {
  const weights = new Float32Array(HEADS * tokens * tokens);
  for (let head = 0; head < HEADS; head += 1) {
    for (let query = 0; query < tokens; query += 1) {
      const row = weights.subarray((head * tokens + query) * tokens).subarray(0, tokens);
      const visible = kind === 'decoder' ? query + 1 : tokens;
      let sum = 0;
      for (let key = 0; key < visible; key += 1) {
        const away = Math.abs(key - ((query + 5 * head) % visible));
        sum += row[key] = 0.001 + Math.exp(-away / (1 + layer));
      }
      for (let key = 0; key < visible; key += 1) row[key] = (row[key] ?? 0) / sum;
    }
  }
  return weights;
}
