/** What the package takes and gives. Ids are token ids; names are camelCase of Hugging Face's. */
export type * from './search-types.js';
export type * from './trace-types.js';

/**
 * Where a model is: the URL of a Hugging Face folder, or the files of one that the user has chosen or dropped.
 * In Node also the path of a folder.
 */
export type ModelSource = string | URL | FileList | Iterable<File> | FileSystemDirectoryHandle;

export interface CreateOptions {
  /** Default: the model that comes with the package (English to German). */
  model?: ModelSource;
  /** `auto` (default): a hardware GPU, else the CPU. `gpu` takes software adapters, too. */
  device?: 'auto' | 'gpu' | 'cpu';
  /**
   * How the weights are kept on the device: four, two or (`q8`) about one byte each. `q8` changes translations a little;
   * on the CPU it is the fastest, too.
   * `auto` (default): as few bytes as change nothing, on the CPU `f32`.
   */
  weights?: 'auto' | 'f32' | 'f16' | 'q8';
  /**
   * Whether downloads are kept in this browser. `preferred` (default): where there is room; `required`: fail where
   * there is none; `none`: never.
   */
  cache?: 'preferred' | 'required' | 'none';
  /** SHA-256 (hex) of files by name, or the URL of a JSON file that holds them. */
  manifest?: string | URL | Record<string, string>;
  onProgress?: (event: ProgressEvent) => void;
  /** Stops everything that `create` does, downloads included. */
  signal?: AbortSignal;
  /** `false` runs in this thread: for callers that are in a worker already. Default `true`. */
  worker?: boolean;
}

export type ProgressEvent =
  /** Bytes of all files so far; `total` grows only while not every file's length is known. */
  | {
      stage: 'download';
      file: string;
      loaded: number;
      total: number;
      fileLoaded: number;
      fileTotal: number;
      fromCache: boolean;
    }
  /** What runs, and why. */
  | { stage: 'device'; notice: string }
  /** Bytes of weights on the device. */
  | { stage: 'weights'; loaded: number; total: number }
  | { stage: 'compile'; done: number; total: number }
  /** Something that does not stop the work, such as a full quota. */
  | { stage: 'warning'; message: string }
  | { stage: 'ready' };

export interface EngineInfo {
  device: {
    kind: 'gpu' | 'cpu';
    name: string;
    software: boolean;
    /** One sentence: what runs, and why. */
    notice: string;
  };
  model: {
    label: string;
    family: string;
    /** An encoder alone (BERT) or a decoder alone (GPT-2) translates nothing, but `forward` and `generate` run it. */
    architecture: 'encoder-decoder' | 'encoder-only' | 'decoder-only';
    /** Why there is no `translate`, only calls with token ids; `null` where text is translated. */
    idsOnly: string | null;
    languages: Languages;
    parameters: number;
    /** How they are kept: four, two or one byte each. */
    weights: 'f32' | 'f16' | 'q8';
    weightBytes: number;
    dModel: number;
    encoderLayers: number;
    decoderLayers: number;
    /** Of the encoder. */
    heads: number;
    decoderHeads: number;
    sourceVocabulary: number;
    targetVocabulary: number;
    /** The most tokens of a text; `null` where there is no limit. */
    positions: number | null;
  };
  defaults: {
    beams: number;
    lengthPenalty: number;
    maxLength: number | null;
    /** Whether the model's own configuration asks for sampling. */
    sample: boolean;
    /** The language of a text, and of its translation, where a call names none. */
    sourceLanguage: string | null;
    targetLanguage: string | null;
  };
}

/** What a multilingual model can be told, by its own codes: `deu_Latn` (NLLB), `de_DE` (mBART), `de` (M2M100, T5). */
export interface Languages {
  /** Empty where the model finds out by itself, as Marian's do. */
  source: string[];
  /** Empty for a model of one pair. */
  target: string[];
  /** The only pairs that there are, `[source, target]`; `null` where any source goes with any target. */
  pairs: [string, string][] | null;
}

/** How to search. What is absent comes from the model's `generation_config.json`. */
export interface SearchOptions {
  /** 1 is greedy search. */
  beams?: number;
  /** How many hypotheses to return, at most `beams`. */
  nBest?: number;
  lengthPenalty?: number;
  maxLength?: number;
  minLength?: number;
  earlyStopping?: boolean | 'never';
  noRepeatNgramSize?: number;
  repetitionPenalty?: number;
  /** Draws tokens at random instead of taking the best; without beams. The next options say how. */
  sample?: boolean;
  /** Below 1 the likely tokens become likelier. Default 1. */
  temperature?: number;
  /** From how many of the best tokens; 0 for all. Default 50. */
  topK?: number;
  /** From the best tokens that together have this probability. Default 1. */
  topP?: number;
  /** The same seed draws the same tokens. Default: a random one, which the result names. */
  seed?: number;
}

export interface CallOptions {
  /** Honoured within one decoding step. */
  signal?: AbortSignal;
}

export type AttentionKind = 'encoder' | 'decoder' | 'cross';

export interface TranslateOptions extends SearchOptions, CallOptions {
  /** The language of the text; one of `info.model.languages.source`. */
  sourceLanguage?: string;
  /** The language to translate into; one of `info.model.languages.target`. */
  targetLanguage?: string;
  /** Attention weights of the best hypothesis of one sentence (default: `cross`, `mean`, `mean`, 0). */
  attention?: { kind?: AttentionKind; layer?: number | 'mean'; head?: number | 'mean'; sentence?: number };
  /**
   * Keeps the attention of each sentence's best hypothesis, which the search leaves: a `trace()` of these sentences, which
   * otherwise runs source and translation once more, is then there at once, also while other calls go on. Kept are the last ones,
   * in some 64 MB, until a translation comes without this option.
   */
  keepAttention?: boolean;
}

export interface Translation {
  text: string;
  /** Of the whole text, best first. */
  hypotheses: { text: string; score: number }[];
  sentences: Sentence[];
  /** Only where it was asked for. */
  attention?: AttentionMap;
  /** With `sample`: what gives the same translation again. */
  seed?: number;
  stats: { milliseconds: number; tokens: number; sentences: number };
}

export interface Sentence {
  source: string;
  sourceTokens: Token[];
  /** Best first. */
  hypotheses: Hypothesis[];
}

export interface Hypothesis {
  text: string;
  score: number;
  /** With the start token, and the end token where there is one. */
  tokens: Token[];
  reachedMaxLength: boolean;
}

export interface Token {
  id: number;
  /** As SentencePiece writes it: `▁Wo`. */
  piece: string;
  /** Of tokens that the model has written. */
  logProbability?: number;
}

export interface AttentionMap {
  kind: AttentionKind;
  layer: number | 'mean';
  head: number | 'mean';
  /** `[queries, keys]`; every row of weights sums to 1. */
  shape: [number, number];
  weights: Float32Array;
  queries: Token[];
  keys: Token[];
}

/** A translation on its way: what will stay, and what may still change. The last one is the whole. */
export interface Partial {
  stable: string;
  provisional: string;
  translation?: Translation;
}

export interface GenerateRequest extends SearchOptions {
  inputIds: number[];
  maxNewTokens?: number;
  minNewTokens?: number;
  renormalizeLogits?: boolean;
  badWordsIds?: number[][];
  forcedBosTokenId?: number;
  forcedEosTokenId?: number | number[];
  decoderStartTokenId?: number;
  bosTokenId?: number;
  eosTokenId?: number | number[];
  padTokenId?: number;
}

/** Best first; samples in the order in which they were drawn. */
export interface Generated {
  sequences: number[][];
  scores: number[];
  stepLogProbabilities: number[][];
  /** With `sample`: what gives the same sequences again. */
  seed?: number;
}

/** Padded rows of equal length. */
export interface ForwardInput {
  inputIds: number[][];
  attentionMask?: number[][];
  /** BERT's segments; all 0 by default. */
  tokenTypeIds?: number[][];
  /** Not for models of one stack, such as BERT and GPT-2. */
  decoderInputIds?: number[][];
}

export interface Tensor {
  shape: number[];
  data: Float32Array;
}

export interface ForwardOutput {
  encoderLastHiddenState: Tensor;
  logits: Tensor;
  /** The embeddings and each layer's output. A model of one stack leaves the other's empty. */
  encoderHiddenStates: Tensor[];
  decoderHiddenStates: Tensor[];
  encoderAttentions: Tensor[];
  decoderAttentions: Tensor[];
  crossAttentions: Tensor[];
}

/**
 * Which attention of which sentence. Tokens are those of a `Sentence` and of one of its hypotheses, whole; of a model of
 * one stack, those on the side of that stack, with the other side empty.
 */
export interface AttentionInput {
  sourceTokens: readonly Token[];
  /** From the start token to the end token. */
  targetTokens: readonly Token[];
  /** Default `cross`; in a model of one stack, that stack's. */
  kind?: AttentionKind;
  /** Default `mean`. */
  layer?: number | 'mean';
  /** Default `mean`. */
  head?: number | 'mean';
}

export interface Memory {
  deviceBytes: number;
  buffersCreated: number;
  wasmBytes: number;
}
