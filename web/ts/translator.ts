import { checkFunction, checkSignal, isSignal, OF_TRANSLATE, onlyKnown, onlyOptions, plainOptions, string, trueOrFalse, wholeNumber } from './check-input.js';
import { abortedBy, Client } from './client.js';
import { WordloomError } from './errors.js';
import { wireExplain } from './explain.js';
import type { ChosenHypothesis, Explanation, ExplainOptions } from './explain-types.js';
import type { Calls, Channel, Method, WireCreate } from './protocol.js';
import type { HeadName, SearchTree, SearchTreeInput } from './search-types.js';
import { wireSearch } from './search.js';
import { PartialStream } from './stream.js';
import { Trace, wireTrace } from './trace.js';
import type { Positions, TraceInput } from './trace-types.js';
import type {
  AttentionInput,
  AttentionMap,
  CallOptions,
  CreateOptions,
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

/** A model on a device, ready to translate. The entry points add `create`. */
export class TranslatorBase {
  /** The model, the device, and the reason for its choice. */
  readonly info: EngineInfo;
  /** Unlimited, because text is cut into sentences. */
  readonly inputQuota: number = Infinity;
  readonly #client: Client;
  #muted: readonly HeadName[] = [];
  #swapped = '';
  #switches = '';

  protected constructor(client: Client, info: EngineInfo) {
    // `new Translator()` is an easy mistake without TypeScript
    if (!(client instanceof Client)) throw new WordloomError('input', 'A translator comes from `await Translator.create()`.');
    this.#client = client;
    this.info = info;
  }

  /** Translates a text of any length, sentence by sentence. */
  translate(text: string, options: TranslateOptions = {}): Promise<Translation> {
    const { signal, ...search } = options ?? {};
    return this.#call('translate', () => translateInput(text, options, search), signal);
  }

  /**
   * A summary of a whole document, of a model that summarizes (`info.model.summarizes`), or by its task `summarization`. A document that is
   * longer than the model takes is an error; with `document: 'truncate'` its end is left out.
   */
  summarize(text: string, options: TranslateOptions = {}): Promise<Translation> {
    const { document = true, ...rest } = options ?? {};
    return this.translate(text, typeof options === 'object' && !isSignal(options) ? { ...rest, document } : options);
  }

  /** Partial translations; the last one has the whole `translation`. Leaving the loop stops the work. */
  translateStreaming(text: string, options: TranslateOptions = {}): AsyncIterableIterator<Partial> {
    const { signal, ...search } = options ?? {};
    const left = new AbortController();
    const stream = new PartialStream(() => left.abort());
    // One signal for both ways to stop. (Some supported browsers lack `AbortSignal.any`.)
    const stop = () => left.abort(signal?.reason);
    if (signal?.aborted) stop();
    if (isSignal(signal)) signal.addEventListener('abort', stop, { once: true });
    const show = (partial: Partial) => stream.push(partial);
    const input = () => (checkSignal(signal), translateInput(text, options, search));
    this.#call('translate', input, left.signal, show)
      .then(
        (translation) => stream.finish(translation),
        (error: unknown) => stream.fail(error),
      )
      .finally(() => isSignal(signal) && signal.removeEventListener('abort', stop));
    return stream;
  }

  /** Searches over token ids, as Hugging Face's `generate`; needs no tokenizer. */
  generate(requests: GenerateRequest | GenerateRequest[], options: CallOptions = {}): Promise<Generated[]> {
    return this.#call('generate', () => (onlyOptions(options), objects(requests)), options?.signal);
  }

  /** A teacher-forced pass: logits, hidden states, and all attention weights. */
  forward(input: ForwardInput, options: CallOptions = {}): Promise<ForwardOutput> {
    const checked = () => {
      onlyOptions(options);
      onlyKnown('The input of forward', input, ['inputIds', 'attentionMask', 'globalAttentionMask', 'tokenTypeIds', 'decoderInputIds']);
      return input;
    };
    return this.#call('forward', checked, options?.signal);
  }

  /** The attention of one layer and head, or of means over them, between the tokens of a translated sentence. */
  attention(input: AttentionInput, options: CallOptions = {}): Promise<AttentionMap> {
    const checked = () => {
      onlyOptions(options);
      onlyKnown('The input of attention', input, ['sourceTokens', 'targetTokens', 'kind', 'layer', 'head']);
      return input;
    };
    return this.#call('attention', checked, options?.signal);
  }

  /**
   * Every number of one attention, from the embedding to the probabilities, as `wordloom explain` shows them: of a text, which is
   * translated first, or of a translated sentence.
   */
  explain(text: string | ChosenHypothesis, options: ExplainOptions): Promise<Explanation> {
    return this.#call('explain', () => wireExplain(text, options), options?.signal);
  }

  /** Makes a `Trace` of translated sentences, with every attention map. */
  async trace(input: TraceInput): Promise<Trace> {
    const described = await this.#call('trace', () => wireTrace(input), input?.signal);
    return new Trace(this.#client, described, false);
  }

  /** Searches for one sentence's translation, and returns the tree of the search. */
  searchTree(input: SearchTreeInput): Promise<SearchTree> {
    return this.#call('searchTree', () => wireSearch(input), input?.signal);
  }

  /**
   * Mutes exactly these heads for all later calls; `[]` mutes none. A muted head contributes nothing, but its attention is still
   * computed. The call waits for earlier calls, and muting also applies to a device that replaces a lost one.
   */
  async mute(heads: readonly HeadName[]): Promise<void> {
    if (!Array.isArray(heads)) {
      throw new WordloomError('input', 'heads must be a list of names such as "cross.2.5".');
    }
    const names: HeadName[] = heads.map((name, at) => string(name, `heads[${at}]`) as HeadName);
    await this.#call('mute', () => names);
    this.#muted = names;
  }

  /** The muted heads. */
  get muted(): readonly HeadName[] {
    return this.#muted;
  }

  /**
   * Gives layers of the encoder another kind of self-attention for all later calls, as `wordloom translate --attention` does:
   * `"encoder.2=window:8,encoder.*=uniform"`. `""` gives every layer its own back. No weights change. The call waits for earlier
   * calls, and the choice also applies to a device that replaces a lost one.
   */
  async swapAttention(choice: string): Promise<void> {
    await this.#call('swapAttention', () => string(choice, 'choice'));
    this.#swapped = choice;
  }

  /** The layers with another kind of self-attention; `""`: none. */
  get swappedAttention(): string {
    return this.#swapped;
  }

  /**
   * Switches parts of the model off, or changes them, for all later calls, as `wordloom translate --switch` does:
   * `"encoder.*.residual=off,decoder.2.feed-forward=off"`. `""` gives the model all of its parts back. Muted heads and swapped
   * attention stay. The call waits for earlier calls, and the switches also apply to a device that replaces a lost one.
   */
  async setSwitches(switches: string): Promise<void> {
    await this.#call('setSwitches', () => string(switches, 'switches'));
    this.#switches = switches;
  }

  /** The switches; `""`: none. */
  get switches(): string {
    return this.#switches;
  }

  /** The first rows of the model's position table. */
  positions(count = 50, options: CallOptions = {}): Promise<Positions> {
    return this.#call('positions', () => (onlyOptions(options), wholeNumber(count, 'count')), options?.signal);
  }

  /** The source tokens of a text. Also for models that do not translate, such as GPT-2 and BERT. */
  tokenize(text: string): Promise<{ ids: number[]; tokens: string[] }> {
    return this.#call('tokenize', () => string(text));
  }

  /** The text of token ids, such as those of `generate`. Ends, padding and languages are left out, or kept on request. */
  detokenize(ids: readonly number[], options: { skipSpecialTokens?: boolean } = {}): Promise<string> {
    const { skipSpecialTokens = true } = options ?? {};
    return this.#call('detokenize', () => {
      onlyOptions(options, ['skipSpecialTokens']);
      trueOrFalse(skipSpecialTokens, 'skipSpecialTokens');
      if (!Array.isArray(ids)) throw new WordloomError('input', 'ids must be a list of token ids.');
      return { ids: Uint32Array.from(ids, (id, at) => wholeNumber(id, `ids[${at}]`)), skipSpecialTokens };
    });
  }

  /** Number of source tokens in `text`. */
  async measureInputUsage(text: string, options: CallOptions = {}): Promise<number> {
    const { ids } = await this.#call('tokenize', () => (onlyOptions(options), string(text)), options?.signal);
    return ids.length;
  }

  /** Bytes on the device, and of WebAssembly. */
  memory(): Promise<Memory> {
    return this.#call('memory', () => undefined);
  }

  /** Frees the device's memory and ends the worker. Pending calls reject as aborted. */
  destroy(): void {
    this.#client.destroy();
  }

  /** Wrong input rejects as well, so that a caller need not also catch synchronous errors. */
  async #call<M extends Method>(
    method: M,
    input: () => Calls[M]['input'],
    signal?: AbortSignal,
    partial?: (partial: Partial) => void,
  ): Promise<Calls[M]['output']> {
    return this.#client.call(method, input(), signal, partial);
  }
}

function translateInput(text: string, options: TranslateOptions, search: Omit<TranslateOptions, 'signal'>): Calls['translate']['input'] {
  plainOptions(options, 'translate', OF_TRANSLATE);
  return { text: string(text), options: search };
}

function objects(requests: GenerateRequest | GenerateRequest[]): GenerateRequest[] {
  const list = Array.isArray(requests) ? requests : [requests];
  if (list.every((request) => typeof request === 'object' && request !== null)) {
    for (const request of list) plainOptions(request);
    return list;
  }
  throw new WordloomError('input', 'A request must be an object with inputIds.');
}

/** Loads a model behind `channel`; closes the channel if that fails. */
export async function connect(
  open: () => Channel,
  wire: WireCreate,
  { onProgress, signal }: Pick<CreateOptions, 'onProgress' | 'signal'>,
): Promise<{ client: Client; info: EngineInfo }> {
  checkSignal(signal);
  if (signal?.aborted) throw abortedBy(signal);
  checkFunction(onProgress, 'onProgress');
  const client = new Client(open(), onProgress);
  try {
    return { client, info: await client.call('create', wire, signal) };
  } catch (error) {
    client.destroy();
    throw error;
  }
}
