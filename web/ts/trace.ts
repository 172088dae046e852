/** A trace, on the caller's side: its tokens are here, its weights stay with the engine until they are asked for. */
import type { Client } from './client.js';
import { WordloomError } from './errors.js';
import type { Channel } from './protocol.js';
import type {
  ColourMap,
  GridChoice,
  HeadStatistics,
  MapChoice,
  MapView,
  Pixels,
  TracedSentence,
  TraceFormat,
  TraceInput,
  Weights,
  WireTrace,
  WireTraceInput,
} from './trace-types.js';
import type { AttentionKind, CallOptions } from './types.js';

/** What a translation left to be looked at. `close` gives its memory back. */
export class Trace {
  /** What the model is called. */
  readonly model: string;
  readonly sentences: readonly TracedSentence[];
  readonly #client: Client;
  readonly #id: number;
  /** Whether its engine has nothing else to do. */
  readonly #alone: boolean;
  #closed = false;

  /** Traces come from `translator.trace` and `openTrace`. */
  constructor(client: Client, { id, model, sentences }: WireTrace, alone: boolean) {
    this.#client = client;
    this.#id = id;
    this.#alone = alone;
    this.model = model;
    this.sentences = sentences;
  }

  /** The weights of one map. */
  map(choice: MapChoice, { signal }: CallOptions = {}): Promise<Weights> {
    return this.#client.call('traceMap', { trace: this.#id, which: complete(choice) }, signal);
  }

  /** One map, or all heads of a kind, as pixels for a canvas. */
  paint(choice: MapChoice | GridChoice, view: MapView, { signal }: CallOptions = {}): Promise<Pixels> {
    const which = complete(choice);
    return this.#client.call('tracePaint', { trace: this.#id, which, view }, signal);
  }

  /** Numbers and a plain name for every head of a kind, by layer. */
  statistics(
    choice: { kind: AttentionKind; sentence?: number },
    { signal }: CallOptions = {},
  ): Promise<HeadStatistics[]> {
    const { kind, sentence = 0 } = choice;
    return this.#client.call('traceStatistics', { trace: this.#id, kind, sentence }, signal);
  }

  /** The bytes of a file. `sentence` is for `npz`. */
  file(format: TraceFormat, options: { sentence?: number } & CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { sentence = 0, signal } = options;
    return this.#client.call('traceFile', { trace: this.#id, format, sentence }, signal);
  }

  /** The 256 colours of a colour map, three bytes each, for a legend. */
  colours(name: ColourMap): Promise<Uint8Array> {
    return this.#client.call('colours', name);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#alone) this.#client.destroy();
    // An engine that is gone has no trace either.
    else this.#client.call('closeTrace', this.#id).catch(() => {});
  }
}

/** What was asked for, with its defaults. */
function complete<C extends MapChoice | GridChoice>(choice: C): Required<C> {
  const { kind, layer = 'mean', head = 'mean', sentence = 0 } = choice;
  return { kind, layer, head, sentence } as Required<C>;
}

/** What `translator.trace` sends. */
export function wireTrace(input: TraceInput): WireTraceInput {
  const { sentences, signal: _, ...rest } = input ?? {};
  if (!Array.isArray(sentences)) {
    throw new WordloomError('input', 'sentences must be a list of { sentence, hypothesis } of a translation.');
  }
  return {
    ...rest,
    sentences: sentences.map(({ sentence, hypothesis = 0 }, index) => {
      const chosen = sentence?.hypotheses?.[hypothesis];
      if (!chosen || !Array.isArray(sentence.sourceTokens)) {
        throw new WordloomError('input', `sentences[${index}] has no hypothesis ${hypothesis}.`);
      }
      return {
        source: sentence.source,
        sourceIds: sentence.sourceTokens.map((token: { id: number }) => token.id),
        target: chosen.text,
        targetIds: chosen.tokens.map((token: { id: number }) => token.id),
        tokens: chosen.tokens,
      };
    }),
  };
}

/** Opens a trace file in an engine of its own: nothing that it holds can disturb another, and no model is needed. */
export async function openTraceBehind(
  connect: (channel: Channel) => Client,
  open: () => Channel,
  file: Blob | ArrayBuffer | Uint8Array,
  { signal }: CallOptions,
): Promise<Trace> {
  const client = connect(open());
  try {
    return new Trace(client, await client.call('openTrace', checked(file), signal), true);
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** A blob crosses to the engine without being read here. */
function checked(file: unknown): Blob | ArrayBuffer | Uint8Array {
  if (file instanceof Blob || file instanceof ArrayBuffer || file instanceof Uint8Array) return file;
  throw new WordloomError('input', 'A trace file is a File, a Blob, or its bytes.');
}
