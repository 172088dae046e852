/** What a trace holds: everything that a translation left to be looked at. */
import type { AttentionKind, CallOptions, Sentence, Token } from './types.js';

/** A translated sentence, as `translate` gave it, and which of its hypotheses is meant. */
export interface TraceInput extends CallOptions {
  sentences: readonly { sentence: Sentence; hypothesis?: number }[];
  /** What the model is called in the trace. Default: where it came from. */
  model?: string;
  /** Default: all three. */
  kinds?: readonly AttentionKind[];
  /** For the weights of all sentences, bytes; what there is no room for is named in `leftOut`. Default 256 MiB. */
  memory?: number;
  /** How many of the most probable tokens are kept at each place. Default 0: that takes time. */
  alternatives?: number;
  /** As the sentences were translated. */
  sourceLanguage?: string;
  targetLanguage?: string;
}

export interface TracedToken {
  id: number;
  /** As the tokenizer has it: `▁Wo`. */
  piece: string;
  /** For the eye: the text that it stands for, with `·` before what goes on in the middle of a word. */
  label: string;
  /** Whether it stands for no text: an end, a start, a language. */
  special: boolean;
  /** Where it stands in `source` or `target`: its first character and the one behind it; `null` where that is not known. */
  range: [number, number] | null;
  logProbability?: number;
  /** What else might have come, best first. */
  alternatives?: { id: number; piece: string; logProbability: number }[];
}

export interface TracedSentence {
  source: string;
  target: string;
  /** How many of the target's first tokens were given. */
  prompt: number;
  sourceTokens: TracedToken[];
  /** From the start token to the end token. */
  targetTokens: TracedToken[];
  /** The kinds that have layers. */
  kinds: TracedKind[];
  leftOut: { kind: AttentionKind | null; layer: number | null; bytes: number; reason: string }[];
}

export interface TracedKind {
  kind: AttentionKind;
  /** Their numbers, from 0. */
  layers: number[];
  heads: number;
  queries: number;
  keys: number;
}

/** One map. Numbers count from 0; a mean is one over all layers or heads. */
export interface MapChoice {
  kind: AttentionKind;
  /** Default `mean`. */
  layer?: number | 'mean';
  /** Default `mean`. */
  head?: number | 'mean';
  /** Default 0. */
  sentence?: number;
}

/** The grid of all heads of a kind: a row for each layer, a column for each head. */
export interface GridChoice {
  kind: AttentionKind;
  layer: 'all';
  head: 'all';
  sentence?: number;
}

export interface Weights {
  /** `[queries, keys]` */
  shape: [number, number];
  weights: Float32Array;
}

export type ColourMap = 'viridis' | 'magma' | 'cividis' | 'greys';

/** `linear`: shares of the map's largest weight; `logarithmic`: from a ten-thousandth to 1; `rows`: shares of the row's largest. */
export type Scale = 'linear' | 'logarithmic' | 'rows';

/** What part of the maps is painted, and how. */
export interface MapView {
  /** Of the picture, in pixels. */
  width: number;
  height: number;
  /** Pixels of a cell; below 1 a pixel shows the largest weight that it covers. */
  cell: [width: number, height: number];
  /** The point of the grid, in cells, that is in the upper left corner. Default `[0, 0]`. */
  origin?: [x: number, y: number];
  /** Cells between the maps of a grid. Default 0. */
  gap?: number;
  /** Only the first so many rows of each map. Default: all. */
  rows?: number;
  /** Default `linear`. */
  scale?: Scale;
  /** Default `viridis`. */
  colours?: ColourMap;
  /** Of what is no map: red, green, blue, opacity, 0 to 255. Default: transparent. */
  background?: [number, number, number, number];
}

export interface Pixels {
  width: number;
  height: number;
  rgba: Uint8ClampedArray<ArrayBuffer>;
}

/** Numbers of one head, means over the queries that have a choice; `docs/trace.md` says what each of them is. */
export interface HeadStatistics {
  layer: number;
  head: number;
  /** A plain name: `positional: previous token`, `broad` … */
  label: string;
  entropy: number;
  relativeEntropy: number;
  distance: number;
  diagonal: number;
  previous: number;
  next: number;
  special: number;
  punctuation: number;
  rare: number;
  confidence: number;
  rank: number;
  fullRank: number;
}

/** The table of positions that a model adds to its embeddings. */
export interface Positions {
  kind: 'sinusoidal' | 'learned' | 'relative';
  /** `halves`: all sines, then all cosines. The rest is there for sinusoids only. */
  layout?: 'interleaved' | 'halves';
  /** `[positions, dimensions]` */
  shape?: [number, number];
  values?: Float32Array;
}

/** `json` and `safetensors` are trace files, which open again; `npz` is for NumPy, one sentence. */
export type TraceFormat = 'json' | 'safetensors' | 'npz';

/** What crosses a worker's border. */
export interface WireTrace {
  id: number;
  model: string;
  sentences: TracedSentence[];
}

export interface WireTraceInput extends Omit<TraceInput, 'sentences' | 'signal'> {
  sentences: (WirePair & { tokens: Token[] })[];
}

export interface WirePair {
  source: string;
  sourceIds: number[];
  target: string;
  targetIds: number[];
}
