/** The browser's own Translator API, on this package's engine. */
import type { Availability, LanguagePair } from './availability.js';
import { isSignal } from './check-input.js';
import { toWordloomError, type ErrorKind } from './errors.js';
import type { TranslatorBase } from './translator.js';
import type { CreateOptions } from './types.js';

/** BCP 47 tags. The model translates `en` to `de`. */
export interface Languages {
  sourceLanguage: string;
  targetLanguage: string;
}

/** Fires `downloadprogress` with `loaded` from 0 to 1 and a `total` of 1. */
export interface CreateMonitor extends EventTarget {
  ondownloadprogress: ((event: ProgressEvent) => void) | null;
  addEventListener(
    type: 'downloadprogress',
    listener: (event: ProgressEvent) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(...event: Parameters<EventTarget['addEventListener']>): void;
}

/** Options of `create`, as browsers define them. */
export interface StandInOptions extends Languages {
  monitor?: (monitor: CreateMonitor) => void;
  signal?: AbortSignal;
}

interface Engine {
  create(options: CreateOptions): Promise<TranslatorBase>;
  availability(pair: LanguagePair): Promise<Availability>;
}

/** A translator with the shape of the browser's own. Errors are `DOMException`s. */
export class StandIn {
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
  /** `Infinity`: text of any length is taken. */
  readonly inputQuota: number;
  readonly #translator: TranslatorBase;

  protected constructor({ sourceLanguage, targetLanguage }: Languages, translator: TranslatorBase) {
    this.sourceLanguage = sourceLanguage;
    this.targetLanguage = targetLanguage;
    this.inputQuota = translator.inputQuota;
    this.#translator = translator;
  }

  /** The translation of a text. */
  async translate(input: string, options: { signal?: AbortSignal } = {}): Promise<string> {
    required(arguments.length);
    const signal = signalOf(options);
    try {
      return (await this.#translator.translate(String(input), { signal })).text;
    } catch (error) {
      throw asDomException(error, signal);
    }
  }

  /** Consecutive parts of the translation. */
  translateStreaming(input: string, options: { signal?: AbortSignal } = {}): ReadableStream<string> {
    required(arguments.length);
    const signal = signalOf(options);
    const partials = this.#translator.translateStreaming(String(input), { signal });
    let reported = 0;
    return new ReadableStream<string>({
      async pull(controller) {
        try {
          while (true) {
            const { done, value } = await partials.next();
            if (done) return controller.close();
            if (value.stable.length <= reported) continue;
            controller.enqueue(value.stable.slice(reported));
            reported = value.stable.length;
            return;
          }
        } catch (error) {
          controller.error(asDomException(error, signal));
        }
      },
      async cancel() {
        await partials.return?.();
      },
    });
  }

  /** Number of tokens of a text. */
  async measureInputUsage(input: string, options: { signal?: AbortSignal } = {}): Promise<number> {
    required(arguments.length);
    const signal = signalOf(options);
    try {
      return await this.#translator.measureInputUsage(String(input), { signal });
    } catch (error) {
      throw asDomException(error, signal);
    }
  }

  /** Frees the engine. Pending calls reject with an `AbortError`. */
  destroy(): void {
    this.#translator.destroy();
  }
}

/** The languages in canonical form. As in browsers, both are required. */
export function languages(options: Languages): Languages {
  const canonical = (name: keyof Languages) => {
    const tag: unknown = options?.[name];
    if (tag === undefined) throw new TypeError(`${name} is missing`);
    return Intl.getCanonicalLocales(String(tag))[0]!; // A RangeError for an invalid tag.
  };
  return { sourceLanguage: canonical('sourceLanguage'), targetLanguage: canonical('targetLanguage') };
}

export async function createFor(engine: Engine, pair: Languages, options: StandInOptions): Promise<TranslatorBase> {
  const { monitor } = options;
  const signal = signalOf(options);
  signal?.throwIfAborted();
  if ((await engine.availability(pair)) === 'unavailable') {
    const what = `${pair.sourceLanguage} to ${pair.targetLanguage}`;
    throw new DOMException(`There is no model that translates ${what}.`, 'NotSupportedError');
  }
  const target = monitor && new Monitor();
  if (target) monitor(target as CreateMonitor);
  target?.report(0);
  try {
    const translator = await engine.create({
      signal,
      onProgress: (event) => {
        if (event.stage === 'download' && event.loaded < event.total) target?.report(event.loaded / event.total);
      },
    });
    target?.report(1);
    return translator;
  } catch (error) {
    throw asDomException(error, signal);
  }
}

/** As in browsers, a call without a text is a `TypeError`. */
function required(given: number): void {
  if (given === 0) throw new TypeError('1 argument required, but only 0 present: the text');
}

/** As in browsers, another value is a `TypeError`. */
function signalOf(options: { signal?: AbortSignal } | null): AbortSignal | undefined {
  const signal = options?.signal;
  if (signal === undefined || isSignal(signal)) return signal;
  throw new TypeError('signal is no AbortSignal');
}

class Monitor extends EventTarget {
  ondownloadprogress: ((event: ProgressEvent) => void) | null = null;
  #reported = -1;

  report(loaded: number): void {
    if (loaded <= this.#reported) return;
    this.#reported = loaded;
    const event = progressEvent(loaded);
    this.ondownloadprogress?.(event);
    this.dispatchEvent(event);
  }
}

/** Node has no `ProgressEvent`. */
function progressEvent(loaded: number): ProgressEvent {
  if (typeof ProgressEvent === 'function') {
    return new ProgressEvent('downloadprogress', { lengthComputable: true, loaded, total: 1 });
  }
  return Object.assign(new Event('downloadprogress'), { lengthComputable: true, loaded, total: 1 }) as ProgressEvent;
}

const NAMES: Partial<Record<ErrorKind, string>> = {
  aborted: 'AbortError',
  network: 'NetworkError',
  unsupported: 'NotSupportedError',
  memory: 'OperationError',
};

function asDomException(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  const { kind, message } = toWordloomError(error);
  return new DOMException(message, NAMES[kind] ?? 'OperationError');
}
