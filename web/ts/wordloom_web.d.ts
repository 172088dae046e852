/** The output of `wasm-bindgen`, with types that its own declarations lack. */
import type { PassOver } from './check-types.js';
import type { Explanation } from './explain-types.js';
import type { WireExplain, WireSearchTree, WireTraceExplain } from './protocol.js';
import type { HeadName, SearchTree } from './search-types.js';
import type { FastTokenizer } from './wordloom_web_tokenizer.js';
import type {
  ColourMap,
  GridChoice,
  HeadStatistics,
  MapChoice,
  MapView,
  Positions,
  TracedSentence,
  Weights,
  WirePair,
  WireTraceInput,
} from './trace-types.js';
import type {
  AttentionKind,
  EngineInfo,
  ForwardInput,
  ForwardOutput,
  Generated,
  GenerateRequest,
  Memory,
  Partial,
  TranslateOptions,
  Translation,
} from './types.js';

export default function init(input: { module_or_path: Response | BufferSource }): Promise<unknown>;

/** A file whose bytes may still be downloading. */
export interface HostFile {
  readonly name: string;
  /** Size of the whole file. */
  readonly size: number;
  /** Reads bytes; the caller waits for them with `arrived` first. */
  read(offset: number, length: number): Uint8Array;
  /** Resolves when the bytes up to `end` can be read; rejects with an error that has a `kind`. */
  arrived(end: number): Promise<void>;
}

export interface HostFolder {
  /** The model's name in messages. */
  readonly label: string;
  readonly files: HostFile[];
}

export type LoadEvent =
  | { stage: 'device'; notice: string }
  | { stage: 'weights'; loaded: number; total: number }
  | { stage: 'compile'; done: number; total: number }
  | { stage: 'ready' };

export interface Host {
  /** Lets other tasks of this thread run, such as aborts. */
  pause(): Promise<void>;
  progress(event: LoadEvent): unknown;
}

export interface LoadHost extends Host {
  /** Opens the tokenizer of a folder that Hugging Face's library reads, in a module of its own. */
  fastTokenizer(folder: HostFolder): Promise<FastTokenizer>;
}

export class Abort {
  constructor(host: Host);
  abort(): void;
  free(): void;
}

export interface AttentionRequest {
  kind: AttentionKind;
  sourceIds: number[];
  targetIds: number[];
  layer: number | 'mean';
  head: number | 'mean';
}

/** An `Explanation` with the library's names. */
export interface EngineExplanation extends Omit<Explanation, 'sizes' | 'normFirst'> {
  norm_first: boolean;
  sizes: { d_model: number; heads: number; d_k: number; d_v: number; ffn_width: number; layers: number };
}

export class Engine {
  static load(
    folder: HostFolder,
    device: string,
    weights: string,
    passOver: PassOver | undefined,
    host: LoadHost,
  ): Promise<Engine>;
  info(): EngineInfo;
  translate(
    text: string,
    options: Omit<TranslateOptions, 'attention' | 'signal'>,
    abort: Abort,
    onPartial?: (partial: Partial) => void,
  ): Promise<Translation>;
  generate(requests: GenerateRequest[], abort: Abort): Promise<Generated[]>;
  searchTree(input: WireSearchTree, abort: Abort): Promise<SearchTree>;
  mute(heads: HeadName[]): Promise<undefined>;
  swapAttention(choice: string): void;
  setSwitches(switches: string): Promise<undefined>;
  forward(input: ForwardInput, abort: Abort): Promise<ForwardOutput>;
  attention(input: AttentionRequest, abort: Abort): Promise<{ shape: [number, number]; weights: Float32Array }>;
  explain(input: WireExplain, abort: Abort): Promise<EngineExplanation>;
  trace(input: Omit<WireTraceInput, 'sentences'> & { sentences: WirePair[] }, abort: Abort): Promise<Trace>;
  keptTrace(input: Omit<WireTraceInput, 'sentences'> & { sentences: WirePair[] }): Trace | undefined;
  positions(count: number): Positions;
  detokenize(ids: Uint32Array, skipSpecialTokens: boolean): string;
  tokenize(text: string): { ids: number[]; tokens: string[] };
  memory(): Memory;
  destroy(): void;
}

export class Trace {
  static open(bytes: Uint8Array): Trace;
  describe(): { model: string; sentences: TracedSentence[] };
  map(which: Required<MapChoice>): Promise<Weights>;
  paint(
    which: Required<MapChoice> | Required<GridChoice>,
    view: Required<MapView>,
  ): Promise<{ width: number; height: number; rgba: Uint8Array<ArrayBuffer> }>;
  statistics(which: Required<MapChoice>): Promise<HeadStatistics>;
  explain(input: WireTraceExplain): Promise<EngineExplanation>;
  json(): Promise<Uint8Array<ArrayBuffer>>;
  safetensors(): Promise<Uint8Array<ArrayBuffer>>;
  free(): void;
}

/** 256 colours, RGB. */
export function colourTable(name: ColourMap): Uint8Array;

/** The families that the engine reads, by `model_type`. */
export function families(): string[];
