/**
 * The package's types. Ids are token ids. The options of a search have the names of `SearchOptions` in every call (`beams`, `nBest`,
 * `sample`, …); other names of Hugging Face's `generate` are in camelCase.
 */
import type { PassOver } from './check-types.js';

export type * from './check-types.js';
export type * from './explain-types.js';
export type * from './search-types.js';
export type * from './trace-types.js';

/**
 * A model's source: the URL or the files of a Hugging Face folder, or the name of a model on the Hugging Face hub,
 * `owner/name` or `owner/name@revision`. A string with exactly one slash is a name; write a relative URL as `./a/b` or `a/b/`.
 * In Node, also the path of a folder. Or the bytes of the files by name, as `Trainer.save()` returns them; or what a package of a
 * model exports, also as the namespace of `import()`.
 */
export type ModelSource =
  | string
  | URL
  | ChosenFiles
  | Iterable<File>
  | Record<string, Uint8Array<ArrayBuffer>>
  | DirectoryHandle
  | ModelPackage
  | { default: ModelPackage };

/** A browser's `FileList`. Its type is not named here, because Node's types lack it. */
export interface ChosenFiles {
  readonly length: number;
  item(index: number): File | null;
}

/** A browser's `FileSystemDirectoryHandle`. Its type is not named here, because Node's types lack it. */
export interface DirectoryHandle {
  readonly kind: 'directory';
  readonly name: string;
}

/** A model in a package of its own, such as `wordloom-model-de-en`. */
export interface ModelPackage {
  /** For messages. */
  name: string;
  /** The absolute address of each file. */
  urls: Record<string, string>;
  /** SHA-256 (hex) of each file. */
  manifest: Record<string, string>;
  /** Bytes of each file, for progress. */
  sizes?: Record<string, number>;
}

/** Options of `Translator.create`. */
export interface CreateOptions {
  /** The model. Default: the bundled one (English to German). */
  model?: ModelSource;
  /** `auto` (default): a hardware GPU, or else the CPU. `gpu` also takes software adapters. */
  device?: 'auto' | 'gpu' | 'cpu';
  /**
   * Storage of weights on the device: four, two or (`q8`) about one byte each. `q8` changes translations a little and is the
   * fastest on the CPU. `w8a8`, on the CPU only: as `q8`, with inputs of products rounded to 8 bits, too; faster only outside
   * browsers. `auto` (default): the smallest storage that changes no number; on the CPU `f32`.
   */
  weights?: 'auto' | 'f32' | 'f16' | 'q8' | 'w8a8';
  /** Whether the browser stores downloads. `preferred` (default): if there is room; `required`: or else fail; `none`: never. */
  cache?: 'preferred' | 'required' | 'none';
  /** SHA-256 (hex) of files by name, or the URL of a JSON file that holds them. */
  manifest?: string | URL | Record<string, string>;
  /** For names: another address of the hub, such as a mirror's. Default: `https://huggingface.co`. */
  endpoint?: string | URL;
  /** For names: an access token of the hub, for gated and private models. It is not stored. */
  token?: string;
  /** For names: asks the hub whether the branch has a newer commit. By default, a stored model is opened without a request. */
  update?: boolean;
  /** Kernels that this device must not get: from `checkDevice` of `wordloom/check`. */
  passOver?: PassOver;
  /** Gets the stages of loading: download, device, weights, compile, ready; and warnings. */
  onProgress?: (event: ProgressEvent) => void;
  /** Stops `create`, including downloads. */
  signal?: AbortSignal;
  /** `false` runs in this thread, for callers that are in a worker already. Default `true`. */
  worker?: boolean;
}

/** A step of loading. Not the browser's event of this name. */
export type ProgressEvent =
  /**
   * Bytes of all files so far, and of the named file. `total` is known from the start for models of the hub and of packages; else it
   * is an estimate until the length of the weights is known. `loaded / total` never goes back.
   */
  | {
      stage: 'download';
      file: string;
      loaded: number;
      total: number;
      fileLoaded: number;
      fileTotal: number;
      fromCache: boolean;
    }
  /** The device, and the reason for its choice. */
  | { stage: 'device'; notice: string }
  /** Bytes of weights on the device. */
  | { stage: 'weights'; loaded: number; total: number }
  | { stage: 'compile'; done: number; total: number }
  /** A problem that does not stop the work, such as a full quota. */
  | { stage: 'warning'; message: string }
  | { stage: 'ready' };

/** The device and the model that a translator runs. */
export interface EngineInfo {
  device: {
    kind: 'gpu' | 'cpu';
    /** The adapter's or the processor's name. */
    name: string;
    /** Whether the adapter is a program, without a GPU. */
    software: boolean;
    /** A sentence with the device and the reason for its choice. */
    notice: string;
  };
  model: {
    /** The model's source, as in messages. */
    label: string;
    /** `model_type` of `config.json`. */
    family: string;
    /** Encoder-only models (BERT) and decoder-only models (GPT-2) do not translate; `forward` and `generate` run them. */
    architecture: 'encoder-decoder' | 'encoder-only' | 'decoder-only';
    /** The reason why the model takes token ids only; `null` if it translates text. */
    idsOnly: string | null;
    /** Whether it is a model that summarizes, by its configuration: its texts are documents. */
    summarizes: boolean;
    languages: Languages;
    /** Number of weights. */
    parameters: number;
    /** Storage of weights: four, two or one byte each. */
    weights: 'f32' | 'f16' | 'q8' | 'w8a8';
    /** Bytes of weights on the device. */
    weightBytes: number;
    /** Width of the layers. */
    dModel: number;
    encoderLayers: number;
    decoderLayers: number;
    /** Number of heads of the encoder. */
    heads: number;
    decoderHeads: number;
    /** Number of tokens. */
    sourceVocabulary: number;
    targetVocabulary: number;
    /** The largest number of tokens in a text; `null` without a limit. */
    positions: number | null;
  };
  /** Options of a call that leaves them out, by the model's `generation_config.json`. */
  defaults: {
    beams: number;
    lengthPenalty: number;
    /** `null`: the model's own limit. */
    maxLength: number | null;
    /** Whether the model samples by default. */
    sample: boolean;
    /** The default languages of a text and of its translation. */
    sourceLanguage: string | null;
    targetLanguage: string | null;
  };
}

/** The languages that a call can choose, by the model's codes: `deu_Latn` (NLLB), `de_DE` (mBART), `de` (M2M100, T5). */
export interface Languages {
  /** Source languages; empty if the model needs none, as Marian's. */
  source: string[];
  /** Target languages; empty for a model of one pair. */
  target: string[];
  /** The supported pairs `[source, target]`; `null` if all combinations are supported. */
  pairs: [string, string][] | null;
}

/** Options of a search. Defaults come from the model's `generation_config.json`. */
export interface SearchOptions {
  /** Number of beams; 1 is greedy search. */
  beams?: number;
  /** Number of returned hypotheses, at most `beams`. */
  nBest?: number;
  /** A hypothesis scores its sum of log-probabilities over its length to this power: above 0 favours long ones. */
  lengthPenalty?: number;
  /** Largest number of tokens of a sentence's translation, with start and end tokens. */
  maxLength?: number;
  /** Smallest number of tokens, with start and end tokens. */
  minLength?: number;
  /**
   * When a beam search stops: `true`: with as many hypotheses as beams; `false`: when a better one is unlikely; `"never"`: when none
   * is possible.
   */
  earlyStopping?: boolean | 'never';
  /** No sequence of so many tokens comes twice; 0: any may. */
  noRepeatNgramSize?: number;
  /** Above 1, tokens that were there already become less likely; 1: no change. */
  repetitionPenalty?: number;
  /** Samples tokens, without beams, as the following options say. */
  sample?: boolean;
  /** Temperature; below 1, likely tokens become likelier. Default 1. */
  temperature?: number;
  /** Number of best tokens to sample from; 0 for all. Default 50. */
  topK?: number;
  /** Probability of the best tokens to sample from. Default 1. */
  topP?: number;
  /** Seed of sampling. Default: a random one, which the result contains. */
  seed?: number;
}

/** Options of every call. */
export interface CallOptions {
  /** Stops the call within one decoding step. */
  signal?: AbortSignal;
}

/** The self-attention of the encoder or of the decoder, or the decoder's attention to the source. */
export type AttentionKind = 'encoder' | 'decoder' | 'cross';

/** Options of `translate`, `translateStreaming` and `summarize`. */
export interface TranslateOptions extends SearchOptions, CallOptions {
  /** The language of the text; one of `info.model.languages.source`. */
  sourceLanguage?: string;
  /** The language to translate into; one of `info.model.languages.target`. */
  targetLanguage?: string;
  /**
   * The whole text is one source, which is not cut into sentences, as models that summarize read it. A text that is longer than the
   * model takes is an error; with `"truncate"` its end is left out.
   */
  document?: boolean | 'truncate';
  /** One of the model's `task_specific_params`, such as `translation_en_to_de`: its words come before every sentence. */
  task?: string;
  /** Attention weights of the best hypothesis of one sentence (default: `cross`, `mean`, `mean`, 0). */
  attention?: { kind?: AttentionKind; layer?: number | 'mean'; head?: number | 'mean'; sentence?: number };
  /**
   * Stores the attention of each sentence's best hypothesis during the search. A `trace()` of these sentences is then ready at
   * once, also during other calls; otherwise it runs source and translation once more. The engine stores the last sentences,
   * up to about 64 MB, until a translation without this option.
   */
  keepAttention?: boolean;
  /** Adds to each sentence which words were translated to which. */
  alignments?: boolean;
  /**
   * Terms whose translation is prescribed, one in each line: `ticket = Billett`; or source, target, inflections with `|` between and the
   * rule `exact` or `any`, with tabs between. The target `=` says that a term stays as it is. A sentence with terms is
   * searched with at least 4 beams.
   */
  glossary?: string;
  /** `hard` (default): every term is in the translation; `soft`, or `soft:` and a weight: terms are only favoured. */
  glossaryMode?: 'hard' | 'soft' | `soft:${number}`;
}

/** The translation of a text. */
export interface Translation {
  /** The best hypothesis. */
  text: string;
  /** Hypotheses of the whole text, best first. */
  hypotheses: { text: string; score: number }[];
  sentences: Sentence[];
  /** The attention, if the call requested it. */
  attention?: AttentionMap;
  /** With `sample`: the seed, which gives the same translation again. */
  seed?: number;
  /** With `document`: tokens at the end of the text that were left out. */
  leftOut?: number;
  /** Time of the call, generated tokens, and sentences. */
  stats: { milliseconds: number; tokens: number; sentences: number };
}

/** A sentence of the text with its translations. */
export interface Sentence {
  source: string;
  /** With the end token and those of languages, as the encoder reads them. */
  sourceTokens: Token[];
  /** The hypotheses, best first. */
  hypotheses: Hypothesis[];
  /**
   * With `alignments`: links between the words of the source and of the best hypothesis, as pairs of indexes from 0. White space
   * separates words.
   */
  alignment?: [number, number][];
  /** How far the best hypothesis can be trusted; missing if there is none. */
  quality?: Quality;
}

/** An estimate of a sentence's best translation, without a reference. */
export interface Quality {
  /** The expected chrF, 0 to 1, for the default model. For other models, it puts sentences into an order. */
  trust: number;
  /** Whether a person should look at it: `trust` is below 0.4. */
  low: boolean;
  /** Mean log-probability of the tokens, the end token included, and those of a glossary's terms left out. */
  logProbability: number;
  /** With `alignments`: share of the source's words that a word of the translation is linked to; otherwise `null`. */
  coverage: number | null;
  /** More than half of its words stand in the source as they are. */
  copies: boolean;
  /** A word comes three times in a row, or a phrase twice, and not so in the source. */
  repeats: boolean;
  /** The maximal length ended it. */
  cut: boolean;
}

/** A translation of a sentence. */
export interface Hypothesis {
  text: string;
  /** Sum of the log-probabilities (nats) over the length to the power of `lengthPenalty`. */
  score: number;
  /** The tokens, including the start token and the end token, if any. */
  tokens: Token[];
  /** Whether `maxLength` ended it, not an end token. */
  reachedMaxLength: boolean;
}

/** A token of a text. */
export interface Token {
  /** Number in the vocabulary. */
  id: number;
  /** The tokenizer's spelling: `▁Wo` of SentencePiece. */
  piece: string;
  /** Log-probability of a generated token, nats. */
  logProbability?: number;
}

/** The attention of one layer and head, or means over them. */
export interface AttentionMap {
  kind: AttentionKind;
  layer: number | 'mean';
  head: number | 'mean';
  /** `[queries, keys]`; every row of weights sums to 1. */
  shape: [number, number];
  /** Row-major. */
  weights: Float32Array;
  /** The token of each row: for `decoder` and `cross`, the one that the row predicts. */
  queries: Token[];
  /** The token of each column. */
  keys: Token[];
}

/** A partial translation: the final part, and the part that may change. The last one is complete. */
export interface Partial {
  stable: string;
  provisional: string;
  /** While a long text is read, before its first word: the part of the encoder that is done, 0 to 1. */
  encoding?: number;
  translation?: Translation;
}

/** A search over token ids. Options that are left out are those of the model's `generation_config.json`. */
export interface GenerateRequest extends SearchOptions {
  /** The source; for a decoder-only model, the beginning of the text. */
  inputIds: number[];
  /** 1 for tokens that see all others and are seen by them, else 0; for LED. Default: no token. */
  globalAttentionMask?: number[];
  /** Largest number of generated tokens; in place of `maxLength`. */
  maxNewTokens?: number;
  /** Smallest number of generated tokens before the end token. */
  minNewTokens?: number;
  /** Whether probabilities sum to 1 again after bans and penalties. */
  renormalizeLogits?: boolean;
  /** Whether only the tokens of the model's shortlist are computed, if it has one; default true. */
  shortlist?: boolean;
  /** Sequences of ids that must not come. */
  badWordsIds?: number[][];
  /** The first token after the start token, such as a language. */
  forcedBosTokenId?: number;
  /** The last token at `maxLength`. */
  forcedEosTokenId?: number | number[];
  /** The decoder's first input. */
  decoderStartTokenId?: number;
  bosTokenId?: number;
  /** Tokens that end a sequence. */
  eosTokenId?: number | number[];
  padTokenId?: number;
}

/** Sequences, best first; samples in the order of drawing. */
export interface Generated {
  /** Ids of each sequence, with the start token. */
  sequences: number[][];
  /** As `Hypothesis.score`. */
  scores: number[];
  /** Log-probability of each generated token, nats. */
  stepLogProbabilities: number[][];
  /** With `sample`: the seed, which gives the same sequences again. */
  seed?: number;
}

/** Padded rows of equal length. */
export interface ForwardInput {
  inputIds: number[][];
  attentionMask?: number[][];
  /** 1 for tokens that see all others and are seen by them, else 0; for LED. Default: no token. */
  globalAttentionMask?: number[][];
  /** BERT's segments. Default: all 0. */
  tokenTypeIds?: number[][];
  /** Not for encoder-only or decoder-only models. */
  decoderInputIds?: number[][];
}

/** An array of numbers. */
export interface Tensor {
  /** Sizes, outermost first. */
  shape: number[];
  /** Row-major. */
  data: Float32Array;
}

/** The tensors of a teacher-forced pass, one row for each row of the input. */
export interface ForwardOutput {
  /** `[rows, source tokens, dModel]` */
  encoderLastHiddenState: Tensor;
  /** `[rows, target tokens, vocabulary]` */
  logits: Tensor;
  /** The embeddings and each layer's output; empty for a missing encoder or decoder. */
  encoderHiddenStates: Tensor[];
  decoderHiddenStates: Tensor[];
  /** Of each layer: `[rows, heads, queries, keys]`. */
  encoderAttentions: Tensor[];
  decoderAttentions: Tensor[];
  crossAttentions: Tensor[];
}

/**
 * The chosen attention. Tokens are those of a `Sentence` and of one of its hypotheses, complete. For an encoder-only or
 * decoder-only model, the other side is empty.
 */
export interface AttentionInput {
  sourceTokens: readonly Token[];
  /** The target tokens, including start and end tokens. */
  targetTokens: readonly Token[];
  /** Default `cross`; for an encoder-only or decoder-only model, its own kind. */
  kind?: AttentionKind;
  /** Default `mean`. */
  layer?: number | 'mean';
  /** Default `mean`. */
  head?: number | 'mean';
}

/** The memory of an engine. */
export interface Memory {
  /** Bytes of buffers on the device now. */
  deviceBytes: number;
  /** Number of buffers so far; a call that creates none reuses them. */
  buffersCreated: number;
  /** Bytes of WebAssembly's memory, which never shrinks. */
  wasmBytes: number;
}
