/** A stand-in for the engine while there is none: words backwards, slowly. */
import type {
  AttentionInput, AttentionMap, CreateOptions, EngineInfo, Partial as Part, Sentence, Token, TranslateOptions, Translation,
} from '../../ts/types.ts';

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const DICT: Record<string, string> = { where: 'wo', is: 'ist', the: 'der', train: 'Zug', 'station?': 'Bahnhof?', 'animal': 'Tier', 'cup': 'Tasse', coffee: 'Kaffee' };

export class Translator {
  readonly info: EngineInfo;
  constructor(device: string, label: string) {
    this.info = {
      device: { kind: device === 'gpu' ? 'gpu' : 'cpu', name: device === 'gpu' ? 'SwiftShader' : 'CPU', software: false, notice: device === 'cpu' ? 'running on CPU (as asked)' : 'running on CPU (no hardware GPU found)' },
      model: { label, family: 'marian', parameters: 8367360, weightBytes: 33469440, dModel: 256, encoderLayers: 4, decoderLayers: 3, heads: 8, decoderHeads: 8, sourceVocabulary: 8000, targetVocabulary: 8000, positions: 256 },
      defaults: { beams: 4, lengthPenalty: 1, maxLength: 128 },
    };
  }
  static async create(options: CreateOptions = {}): Promise<Translator> {
    const total = 17693960;
    for (let loaded = 0; loaded < total; loaded += 1200000) {
      options.onProgress?.({ stage: 'download', file: 'model.safetensors', loaded, total, fileLoaded: loaded, fileTotal: total, fromCache: false });
      await wait(40);
    }
    if (String(options.model).includes('missing')) throw Object.assign(new Error('https://example.org/missing/config.json was not found (404)'), { kind: 'network' });
    if (options.device === 'gpu') throw Object.assign(new Error('This browser has no WebGPU'), { kind: 'unsupported' });
    return new Translator(options.device ?? 'auto', String(options.model));
  }
  async translate(text: string, options: TranslateOptions = {}): Promise<Translation> {
    let last: Part | undefined;
    for await (const part of this.translateStreaming(text, options)) last = part;
    return last!.translation!;
  }
  async *translateStreaming(text: string, options: TranslateOptions = {}): AsyncGenerator<Part> {
    const sentences: Sentence[] = [];
    let out = '';
    const start = performance.now();
    for (const line of text.split('\n')) {
      for (const source of line.match(/[^.!?]+[.!?]*/g)?.map((s) => s.trim()).filter(Boolean) ?? []) {
        const words = source.split(' ');
        const target = words.map((w) => DICT[w.toLowerCase()] ?? w);
        let sofar = '';
        for (const word of target) {
          sofar += (sofar ? ' ' : '') + word;
          await wait(12);
          if (options.signal?.aborted) throw Object.assign(new Error('aborted'), { kind: 'aborted' });
          yield { stable: out + sofar.split(' ').slice(0, -1).join(' '), provisional: (sofar.includes(' ') ? ' ' : '') + sofar.split(' ').at(-1)! };
        }
        out += sofar + ' ';
        const token = (w: string, i: number): Token => ({ id: i, piece: '▁' + w, logProbability: -Math.abs(Math.sin(i * 7 + w.length)) * 1.2 });
        sentences.push({
          source,
          sourceTokens: [...words.map(token), { id: 0, piece: '</s>' }],
          hypotheses: Array.from({ length: options.nBest ?? 1 }, (_, k) => {
            const words = target.map((w) => (k ? w + "'".repeat(k) : w));
            return { text: words.join(' '), score: -0.18 - k * 0.12, reachedMaxLength: false, tokens: [{ id: 9, piece: '<pad>' }, ...words.map(token), { id: 0, piece: '</s>', logProbability: -0.01 }] };
          }),
        });
      }
      out = out.trimEnd() + '\n';
    }
    const best = out.replace(/\n$/, '');
    yield { stable: best, provisional: '', translation: { text: best, hypotheses: [{ text: best, score: -0.2 }], sentences, stats: { milliseconds: performance.now() - start, tokens: best.split(' ').length, sentences: sentences.length } } };
  }
  async attention(input: AttentionInput): Promise<AttentionMap> {
    await wait(30);
    const queries = input.targetTokens.slice(1);
    const keys = [...input.sourceTokens];
    const weights = new Float32Array(queries.length * keys.length);
    queries.forEach((_, q) => {
      const row = keys.map((_, k) => Math.exp(-((k - q * (keys.length / queries.length)) ** 2)));
      const sum = row.reduce((a, b) => a + b, 0);
      row.forEach((w, k) => (weights[q * keys.length + k] = w / sum));
    });
    return { kind: 'cross', layer: input.layer ?? 'mean', head: input.head ?? 'mean', shape: [queries.length, keys.length], weights, queries, keys };
  }
  destroy(): void {}
}
