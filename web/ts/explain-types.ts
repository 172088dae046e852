/** The numbers of one attention. */
import type { AttentionKind, CallOptions, SearchOptions, Sentence } from './types.js';

/** A translated sentence and one of its hypotheses (default: the best). */
export interface ChosenHypothesis {
  sentence: Sentence;
  hypothesis?: number;
}

/** Which attention `explain` shows, and the options of the search for a text. */
export interface ExplainOptions extends CallOptions, SearchOptions {
  /**
   * The token that attends: a word, a piece of one, or its number from 0, which is the row of the attention map. In the encoder it
   * is a token of the source, else the token of the translation that the decoder is about to produce.
   */
  token: string | number;
  /** Default `encoder`. */
  kind?: AttentionKind;
  /** The layer, from 0. Default: the last. */
  layer?: number;
  /** The head, from 0. Default 0. */
  head?: number;
  /** For a text: the translation to look at. Default: the model's own. */
  target?: string;
  sourceLanguage?: string;
  targetLanguage?: string;
}

/** An attention of a trace. */
export interface TraceExplainOptions {
  /** The token that attends: its number from 0, which is the row of the attention map. */
  query: number;
  /** Default `encoder`. */
  kind?: AttentionKind;
  /** The layer, from 0. Default: the last one that has taps. */
  layer?: number;
  /** The head, from 0. Default 0. */
  head?: number;
  /** The sentence, from 0. Default 0. */
  sentence?: number;
}

/** A token of an explanation. */
export interface ExplainedToken {
  /** Position, from 0. */
  position: number;
  id: number;
  /** The text that a reader sees. */
  label: string;
}

/** A step of attention, in the order of computation. `norm-before` or `norm-after`, as the model has it. */
export type StepKind =
  | 'embedding'
  | 'input'
  | 'norm-before'
  | 'query'
  | 'keys'
  | 'products'
  | 'scale'
  | 'mask'
  | 'softmax'
  | 'values'
  | 'heads'
  | 'output'
  | 'residual'
  | 'norm-after'
  | 'feed-forward'
  | 'end'
  | 'logits';

/** The numbers of a step. */
export interface StepNumbers {
  /** Name in the formula: `q`. */
  name: string;
  /** The point of the model: `encoder.2.self.queries`. */
  tap: string;
  /** Sizes, outermost first; empty for one number. */
  shape: number[];
  /** Row-major; `-Infinity` where the mask hides a key. */
  values: Float32Array;
}

/** A step of the computation, with its numbers. */
export interface ExplainedStep {
  kind: StepKind;
  title: string;
  /** Formula with the shape of each part: `x [256] · W_Q [256, 32] → q [32]`. */
  formula: string;
  /** One line of reason. */
  why: string;
  /** Section of "Attention Is All You Need", or of the named paper. */
  section: string;
  numbers: StepNumbers[];
}

/** Every number of one query of one head, in order. */
export interface Explanation {
  head: { kind: AttentionKind; layer: number; head: number };
  /** Where queries, keys and values come from, in words. */
  origin: string;
  source: string;
  target: string;
  /** The token that attends: the one that the layer reads at this position. */
  query: ExplainedToken;
  /** The token that the decoder produces at this position; `null` in the encoder. */
  produces: ExplainedToken | null;
  keys: ExplainedToken[];
  sizes: { dModel: number; heads: number; dK: number; dV: number; ffnWidth: number; layers: number };
  /** Whether the norm stands before the block. */
  normFirst: boolean;
  steps: ExplainedStep[];
  /** Most probable next tokens, best first, after the decoder's last layer; else empty. */
  candidates: { id: number; piece: string; logit: number; probability: number }[];
  /** Of a trace: the names of taps that it lacks, if there are some. */
  missing?: string[];
}
