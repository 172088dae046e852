/** The messages between caller and engine. */
import type { CheckCalls, PassOver } from './check-types.js';
import type { DocumentCalls } from './document-types.js';
import type { WireError } from './errors.js';
import type { Explanation, ExplainOptions } from './explain-types.js';
import type { HubSource } from './hub-name.js';
import type { HeadName, SearchTree, SearchTreeInput } from './search-types.js';
import type {
  ColourMap,
  GridChoice,
  HeadStatistics,
  MapChoice,
  MapView,
  Pixels,
  Positions,
  TraceFormat,
  Weights,
  WirePair,
  WireTrace,
  WireTraceInput,
} from './trace-types.js';
import type { TrainCalls, TrainProgress } from './train-types.js';
import type {
  AttentionInput,
  AttentionKind,
  AttentionMap,
  CreateOptions,
  DirectoryHandle,
  EngineInfo,
  ForwardInput,
  ForwardOutput,
  Generated,
  GenerateRequest,
  Memory,
  Partial,
  ProgressEvent,
  TranslateOptions,
  Translation,
} from './types.js';

/** A model source that can be posted. */
export type WireSource =
  | { from: 'url'; url: string }
  | ({ from: 'hub'; update: boolean } & HubSource)
  | { from: 'bundle'; label: string; urls: Record<string, string>; manifest: Record<string, string>; sizes?: Record<string, number> | undefined }
  | { from: 'files'; label: string; files: { name: string; file: File }[] }
  | { from: 'directory'; handle: DirectoryHandle };

export interface WireCreate {
  source: WireSource;
  device: NonNullable<CreateOptions['device']>;
  weights: NonNullable<CreateOptions['weights']>;
  cache: NonNullable<CreateOptions['cache']>;
  manifest: string | Record<string, string> | undefined;
  passOver: PassOver | undefined;
}

/** A sentence by its ids. */
export interface WireSearchTree extends Omit<SearchTreeInput, 'sourceTokens' | 'prefix' | 'signal'> {
  sourceIds: number[];
  prefix: number[];
  sample: false;
}

/** A text, or a translated sentence by its ids; `null` means the default. */
export interface WireExplain extends Omit<ExplainOptions, 'token' | 'layer' | 'target' | 'signal'> {
  text: string;
  target: string | null;
  sentence: WirePair | null;
  /** A word, or `#3` for the fourth token. */
  token: string;
  layer: number | null;
}

/** An attention of a trace; `null` is the last layer that has taps. */
export interface WireTraceExplain {
  sentence: number;
  kind: AttentionKind;
  layer: number | null;
  head: number;
  query: number;
}

/** Every call of an engine, of a training, of a check, or of a document, with its input and output. */
export interface Calls extends CheckCalls, DocumentCalls, TrainCalls {
  create: { input: WireCreate; output: EngineInfo };
  translate: { input: { text: string; options: Omit<TranslateOptions, 'signal'> }; output: Translation };
  generate: { input: GenerateRequest[]; output: Generated[] };
  searchTree: { input: WireSearchTree; output: SearchTree };
  mute: { input: HeadName[]; output: undefined };
  swapAttention: { input: string; output: undefined };
  setSwitches: { input: string; output: undefined };
  forward: { input: ForwardInput; output: ForwardOutput };
  explain: { input: WireExplain; output: Explanation };
  attention: { input: AttentionInput; output: AttentionMap };
  tokenize: { input: string; output: { ids: number[]; tokens: string[] } };
  detokenize: { input: { ids: Uint32Array; skipSpecialTokens: boolean }; output: string };
  memory: { input: undefined; output: Memory };
  positions: { input: number; output: Positions };
  trace: { input: WireTraceInput; output: WireTrace };
  openTrace: { input: Blob | ArrayBuffer | Uint8Array; output: WireTrace };
  traceMap: { input: { trace: number; which: Required<MapChoice> }; output: Weights };
  tracePaint: { input: { trace: number; which: Required<MapChoice> | Required<GridChoice>; view: MapView }; output: Pixels };
  traceStatistics: { input: { trace: number; kind: AttentionKind; sentence: number }; output: HeadStatistics[] };
  traceExplain: { input: { trace: number; which: WireTraceExplain }; output: Explanation };
  traceFile: {
    input: { trace: number; format: TraceFormat; sentence: number };
    output: Uint8Array<ArrayBuffer>;
  };
  closeTrace: { input: number; output: undefined };
  colours: { input: ColourMap; output: Uint8Array };
}

export type Method = keyof Calls;

export type ToEngine =
  | { [M in Method]: { type: 'call'; id: number; method: M; input: Calls[M]['input']; stream: boolean } }[Method]
  | { type: 'abort'; id: number }
  | { type: 'destroy' };

export type FromEngine =
  | { type: 'progress'; event: ProgressEvent }
  | { type: 'partial'; id: number; partial: Partial | TrainProgress | number }
  | { type: 'done'; id: number; value: Calls[Method]['output'] }
  | { type: 'failed'; id: number; error: WireError }
  /** The engine has crashed and answers no more calls. */
  | { type: 'crashed'; error: WireError }
  | { type: 'destroyed' };

/** A connection to an engine, in a worker or in this thread. */
export interface Channel {
  post(message: ToEngine): void;
  /** `receive` gets every message; `crash` is called when the engine ends. */
  listen(receive: (message: FromEngine) => void, crash: (error: unknown) => void): void;
  /** Reports whether a call is pending: only then a Node process stays alive. */
  busy?(waiting: boolean): void;
  close(): void;
}
