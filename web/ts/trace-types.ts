/** The types of traces. */
import type { AttentionKind, CallOptions, Sentence, Token } from './types.js';

/** A translated sentence from `translate`, and the index of a hypothesis. */
export interface TraceInput extends CallOptions {
  sentences: readonly { sentence: Sentence; hypothesis?: number }[];
  /** The model's name in the trace. Default: its source. */
  model?: string;
  /** The kinds of attention. Default: all three. */
  kinds?: readonly AttentionKind[];
  /** Limit in bytes for the weights of all sentences; `leftOut` lists the rest. Default 256 MiB. */
  memory?: number;
  /** Names of taps to store, such as `encoder.0.self.scores`; `*` stands for any characters. They count as memory. */
  taps?: readonly string[];
  /** Number of most probable tokens to store at each position. Default 0, because it takes time. */
  alternatives?: number;
  /** The language that the sentences were translated from. */
  sourceLanguage?: string;
  targetLanguage?: string;
}

/** A token of a traced sentence. */
export interface TracedToken {
  id: number;
  /** The tokenizer's spelling: `▁Wo`. */
  piece: string;
  /** The text for display, with `·` before a token that continues a word. */
  label: string;
  /** Whether the token stands for no text: an end, a start, a language. */
  special: boolean;
  /** Start and end of its characters in `source` or `target`; `null` if unknown. */
  range: [number, number] | null;
  logProbability?: number;
  /** The alternatives at this position, best first. */
  alternatives?: { id: number; piece: string; logProbability: number }[];
}

/** A sentence of a trace: its tokens, and the maps that the trace has. */
export interface TracedSentence {
  source: string;
  target: string;
  /** Number of target tokens that were given, not generated. */
  prompt: number;
  sourceTokens: TracedToken[];
  /** The target tokens, including start and end tokens. */
  targetTokens: TracedToken[];
  /** The kinds that have layers. */
  kinds: TracedKind[];
  /** Maps that were not stored, with their bytes; `null`: the alternatives to the tokens. */
  leftOut: { kind: AttentionKind | null; layer: number | null; bytes: number; reason: string }[];
}

/** The size of a kind's maps. */
export interface TracedKind {
  kind: AttentionKind;
  /** Numbers of the layers, from 0. */
  layers: number[];
  heads: number;
  queries: number;
  keys: number;
}

/** One map. Numbers count from 0; `mean` is the mean over all layers or heads. */
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

/** The weights of one map. */
export interface Weights {
  /** `[queries, keys]`; columns beyond the tokens are sums of blocks of tokens (LongT5). */
  shape: [number, number];
  /** Row-major. Empty if the map has more than 2²² cells; `paint` shows such a map. */
  weights: Float32Array;
}

/** Colours for weights from small to large. */
export type ColourMap = 'viridis' | 'magma' | 'cividis' | 'greys';

/** `linear`: relative to the map's largest weight; `logarithmic`: from 0.0001 to 1; `rows`: relative to the row's largest. */
export type Scale = 'linear' | 'logarithmic' | 'rows';

/** The painted part of the maps, and the style. */
export interface MapView {
  /** Width of the picture in pixels. */
  width: number;
  height: number;
  /** Size of a cell in pixels; below 1, a pixel shows the largest weight that it covers. */
  cell: [width: number, height: number];
  /** The point of the grid in the upper left corner, in cells. Default `[0, 0]`. */
  origin?: [x: number, y: number];
  /** Gap between the maps of a grid, in cells. Default 0. */
  gap?: number;
  /** Number of painted rows of each map, from the first. Default: all. */
  rows?: number;
  /** Default `linear`. */
  scale?: Scale;
  /** Default `viridis`. */
  colours?: ColourMap;
  /** Colour outside the maps: red, green, blue, opacity, 0 to 255. Default: transparent. */
  background?: [number, number, number, number];
}

/** A picture for a canvas: `new ImageData(rgba, width, height)`. */
export interface Pixels {
  width: number;
  height: number;
  /** Red, green, blue and opacity of each pixel, 0 to 255. */
  rgba: Uint8ClampedArray<ArrayBuffer>;
}

/** Statistics of one head; `docs/trace.md` defines them. */
export interface HeadStatistics {
  layer: number;
  head: number;
  /** The head's name: `positional: previous token`, `broad`, … */
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
  /** Fewest components that hold 90 % of the variance of the matrix. */
  components: number;
  /** Largest possible number of components: the shorter side. */
  fullRank: number;
  /** Share of the variance that the first 1, 2, 3, … components hold. */
  spectrum: number[];
}

/** The position table that a model adds to its embeddings. */
export interface Positions {
  kind: 'sinusoidal' | 'learned' | 'relative';
  /** `halves`: all sines, then all cosines. This and the following are for sinusoids only. */
  layout?: 'interleaved' | 'halves';
  /** `[positions, dimensions]` */
  shape?: [number, number];
  values?: Float32Array;
}

/** `json` and `safetensors` are trace files that `openTrace` reads; `npz` is for NumPy, with one sentence. */
export type TraceFormat = 'json' | 'safetensors' | 'npz';

/** The messages of traces. */
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
