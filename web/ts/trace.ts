/** A trace on the caller's side. It has the tokens; the weights stay in the engine until a call requests them. */
import { areTokens, COLOUR_MAPS, KINDS, MAP_CHOICE, oneOf, onlyKnown, onlyOptions, trueOrFalse } from './check-input.js';
import type { Client } from './client.js';
import { WordloomError } from './errors.js';
import type { ChosenHypothesis, Explanation, TraceExplainOptions } from './explain-types.js';
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
import type { AttentionKind, CallOptions, CreateOptions } from './types.js';

/** The trace of a translation. `close` frees its memory. */
export class Trace {
  /** The model's name. */
  readonly model: string;
  readonly sentences: readonly TracedSentence[];
  readonly #client: Client;
  readonly #id: number;
  /** Whether the engine serves only this trace. */
  readonly #alone: boolean;
  #closed = false;

  /** Traces come from `translator.trace` and `openTrace`. */
  constructor(client: Client, described: WireTrace, alone: boolean) {
    if (!described) throw new WordloomError('input', 'A trace comes from `translator.trace()` or `openTrace()`.');
    const { id, model, sentences } = described;
    this.#client = client;
    this.#id = id;
    this.#alone = alone;
    this.model = model;
    this.sentences = sentences;
  }

  /** The weights of one map. */
  async map(choice: MapChoice, options?: CallOptions): Promise<Weights> {
    onlyOptions(options);
    return this.#client.call('traceMap', { trace: this.#id, which: complete(choice) }, options?.signal);
  }

  /** One map, or all heads of a kind, as pixels for a canvas. */
  async paint(choice: MapChoice | GridChoice, view: MapView, options?: CallOptions): Promise<Pixels> {
    const which = complete(choice);
    if ((which.layer === 'all') !== (which.head === 'all')) {
      throw new WordloomError('input', 'A picture of all heads needs layer: "all" and head: "all".');
    }
    onlyOptions(options);
    return this.#client.call('tracePaint', { trace: this.#id, which, view }, options?.signal);
  }

  /** Statistics and a name for every head of a kind, by layer. */
  async statistics(choice: { kind: AttentionKind; sentence?: number }, options?: CallOptions): Promise<HeadStatistics[]> {
    onlyKnown('The choice', choice, ['kind', 'sentence']);
    onlyOptions(options);
    const { kind, sentence = 0 } = choice;
    this.#checkSentence(sentence);
    oneOf('kind', kind, KINDS);
    return this.#client.call('traceStatistics', { trace: this.#id, kind, sentence }, options?.signal);
  }

  /**
   * Every number of one attention, as `translator.explain` has them, for a trace with taps: no model runs. Steps without taps are
   * left out; `missing` of the result has the names of these taps.
   */
  async explain(options: TraceExplainOptions, callOptions?: CallOptions): Promise<Explanation> {
    onlyKnown('The choice', options, ['query', ...MAP_CHOICE]);
    const { query, kind = 'encoder', layer = null, head = 0, sentence = 0 } = options;
    onlyOptions(callOptions);
    this.#checkSentence(sentence);
    return this.#client.call('traceExplain', { trace: this.#id, which: { sentence, kind, layer, head, query } }, callOptions?.signal);
  }

  /** The bytes of a file. `sentence` is for `npz`. */
  async file(format: TraceFormat, options: { sentence?: number } & CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    onlyOptions(options, ['sentence', 'signal']);
    const { sentence = 0, signal } = options ?? {};
    if (format === 'npz') this.#checkSentence(sentence);
    return this.#client.call('traceFile', { trace: this.#id, format, sentence }, signal);
  }

  /** The 256 colours of a colour map, three bytes each, for a legend. */
  async colours(name: ColourMap): Promise<Uint8Array> {
    return this.#client.call('colours', oneOf('name', name, COLOUR_MAPS));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#alone) this.#client.destroy('The trace was closed.');
    // If the engine has ended, the trace is gone, too.
    else this.#client.call('closeTrace', this.#id).catch(() => {});
  }

  #checkSentence(index: unknown): void {
    const count = this.sentences.length;
    if (Number.isInteger(index) && (index as number) >= 0 && (index as number) < count) return;
    throw new WordloomError('input', `There is no sentence ${String(index)}; the trace has ${count}, counted from 0.`);
  }
}

/** The choice with its defaults. */
function complete<C extends MapChoice | GridChoice>(choice: C): Required<C> {
  onlyKnown('The choice', choice, MAP_CHOICE);
  const { kind, layer = 'mean', head = 'mean', sentence = 0 } = choice;
  return { kind, layer, head, sentence } as Required<C>;
}

/** The message of `translator.trace`. */
export function wireTrace(input: TraceInput): WireTraceInput {
  const { sentences, signal: _, ...rest } = input ?? {};
  onlyKnown('The input of trace', rest, ['sentences', 'model', 'kinds', 'memory', 'taps', 'alternatives', 'sourceLanguage', 'targetLanguage']);
  if (!Array.isArray(sentences)) {
    throw new WordloomError('input', 'sentences must be a list of { sentence, hypothesis } of a translation.');
  }
  return {
    ...rest,
    sentences: sentences.map((one, index) => wirePair(one, `sentences[${index}]`)),
  };
}

/** A sentence of a translation with one of its hypotheses. `name`: what it is called in messages. */
export function wirePair(chosen: unknown, name: string): WireTraceInput['sentences'][number] {
  onlyKnown(name, chosen, ['sentence', 'hypothesis']);
  const { sentence, hypothesis = 0 } = chosen as ChosenHypothesis;
  if (!areTokens(sentence?.sourceTokens) || !Array.isArray(sentence.hypotheses)) {
    throw new WordloomError('input', `${name} has no sentence of a translation.`);
  }
  const { sourceTokens, hypotheses } = sentence;
  const { text, tokens } = hypotheses[hypothesis] ?? {};
  if (!areTokens(tokens)) {
    throw new WordloomError('input', `${name} has no hypothesis ${String(hypothesis)}; there are ${hypotheses.length}, counted from 0.`);
  }
  const ids = (of: readonly { id: number }[]) => of.map(({ id }) => id);
  return { source: sentence.source, sourceIds: ids(sourceTokens), target: text ?? '', targetIds: ids(tokens), tokens: [...tokens] };
}

export type OpenTraceOptions = CallOptions & Pick<CreateOptions, 'worker'>;

/** Opens a trace file in a separate engine without a model, so that a hostile file cannot disturb another engine. */
export async function openTraceBehind(
  connect: (channel: Channel) => Client,
  open: (worker: boolean) => Channel,
  file: Blob | ArrayBuffer | Uint8Array,
  options: OpenTraceOptions,
): Promise<Trace> {
  onlyOptions(options, ['signal', 'worker']);
  const { signal, worker = true } = options ?? {};
  trueOrFalse(worker, 'worker');
  const client = connect(open(worker));
  try {
    return new Trace(client, await client.call('openTrace', checked(file), signal), true);
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** Checks the argument. A blob is posted to the engine without being read here. */
function checked(file: unknown): Blob | ArrayBuffer | Uint8Array {
  if (file instanceof Blob || file instanceof ArrayBuffer || file instanceof Uint8Array) return file;
  throw new WordloomError('input', 'A trace file is a File, a Blob, or its bytes.');
}
