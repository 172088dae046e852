import { Client } from './client.js';
import { aborted } from './errors.js';
import type { Channel, WireCreate } from './protocol.js';
import { PartialStream } from './stream.js';
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
  /** What runs, where, and why. */
  readonly info: EngineInfo;
  /** Any length is welcome: text is cut into sentences. */
  readonly inputQuota: number = Infinity;
  readonly #client: Client;

  protected constructor(client: Client, info: EngineInfo) {
    this.#client = client;
    this.info = info;
  }

  translate(text: string, options: TranslateOptions = {}): Promise<Translation> {
    const { signal, ...search } = options;
    return this.#client.call('translate', { text, options: search }, signal);
  }

  /** Partial translations as they grow; leaving the loop stops the work. The last one has the whole `translation`. */
  translateStreaming(text: string, options: TranslateOptions = {}): AsyncIterableIterator<Partial> {
    const { signal, ...search } = options;
    const left = new AbortController();
    const stream = new PartialStream(() => left.abort());
    // One signal for both ways to stop. (`AbortSignal.any` is younger than the browsers we care for.)
    const stop = () => left.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    this.#client
      .call('translate', { text, options: search }, left.signal, (partial) => stream.push(partial))
      .then(
        (translation) => stream.finish(translation),
        (error: unknown) => stream.fail(error),
      )
      .finally(() => signal?.removeEventListener('abort', stop));
    return stream;
  }

  /** Searches over token ids, as Hugging Face's `generate`; needs no tokenizer. */
  generate(requests: GenerateRequest | GenerateRequest[], options: CallOptions = {}): Promise<Generated[]> {
    return this.#client.call('generate', Array.isArray(requests) ? requests : [requests], options.signal);
  }

  /** A teacher-forced pass: logits, hidden states, and all attention weights. */
  forward(input: ForwardInput, options: CallOptions = {}): Promise<ForwardOutput> {
    return this.#client.call('forward', input, options.signal);
  }

  /** The attention of one layer and head, or of their means, between the tokens of a translated sentence. */
  attention(input: AttentionInput, options: CallOptions = {}): Promise<AttentionMap> {
    return this.#client.call('attention', input, options.signal);
  }

  tokenize(text: string): Promise<{ ids: number[]; tokens: string[] }> {
    return this.#client.call('tokenize', text);
  }

  /** How many source tokens `text` is. */
  async measureInputUsage(text: string, options: CallOptions = {}): Promise<number> {
    const { ids } = await this.#client.call('tokenize', text, options.signal);
    return ids.length;
  }

  memory(): Promise<Memory> {
    return this.#client.call('memory', undefined);
  }

  /** Frees the device's memory and ends the worker. Calls that are pending reject as aborted. */
  destroy(): void {
    this.#client.destroy();
  }
}

/** Loads a model behind `channel`; ends it where that fails. */
export async function connect(
  open: () => Channel,
  wire: WireCreate,
  { onProgress, signal }: Pick<CreateOptions, 'onProgress' | 'signal'>,
): Promise<{ client: Client; info: EngineInfo }> {
  if (signal?.aborted) throw aborted();
  const client = new Client(open(), onProgress);
  try {
    return { client, info: await client.call('create', wire, signal) };
  } catch (error) {
    client.destroy();
    throw error;
  }
}
