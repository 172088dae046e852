/** The engine's side of a channel: runs calls one after the other, and aborts them. */
import { aborted, fromWire, toWire, WordloomError } from './errors.js';
import type { OpenFolder } from './loading/folder.js';
import type { Calls, FromEngine, Method, ToEngine, WireCreate } from './protocol.js';
import type { EngineInfo, Generated, GenerateRequest, Partial, ProgressEvent, Token, TranslateOptions } from './types.js';
import { attentionMap, attentionOf } from './attention.js';
import { explained } from './explain.js';
import { openTokenizer } from './open-tokenizer.js';
import { pause } from './pause.js';
import { addSeed, withSeed } from './seed.js';
import { Traces } from './server-traces.js';
import type { WirePair, WireTrace, WireTraceInput } from './trace-types.js';
import { Abort, colourTable, Engine, families, type Host, type LoadEvent, Trace } from './wordloom_web.js';

/** The services that differ between browsers and Node. */
export interface Platform {
  /** Starts the wasm module once. */
  startWasm(): Promise<void>;
  /** Fetches another wasm module, which lies beside the script that names it. */
  fetchModule(url: URL): Promise<Response | BufferSource>;
  openFolder(
    options: WireCreate,
    report: (event: ProgressEvent) => void,
    signal: AbortSignal,
    families: () => Promise<string[]>,
  ): Promise<OpenFolder>;
}

/** The host for calls without progress. */
const IDLE_HOST: Host = { pause, progress() {} };

type Call = Extract<ToEngine, { type: 'call' }>;

/** Calls that do not wait for a running translation, because they need the device briefly or not at all. */
const IMMEDIATE: ReadonlySet<Method> = new Set<Method>([
  'tokenize',
  'detokenize',
  'memory',
  'positions',
  'openTrace',
  'traceMap',
  'tracePaint',
  'traceStatistics',
  'traceExplain',
  'traceFile',
  'closeTrace',
  'colours',
]);

export class Server {
  readonly #platform: Platform;
  readonly #post: (message: FromEngine, transfer: ArrayBuffer[]) => void;
  readonly #aborts = new Map<number, () => void>();
  readonly #traces = new Traces();
  /** The trace of each call, in case its answer is dropped. */
  readonly #traceOf = new Map<number, number>();
  #engine: Engine | undefined;
  #info: EngineInfo | undefined;
  #folder: OpenFolder | undefined;
  /** The end of the queue. One call runs at a time: on a shared device, two calls would not finish sooner. */
  #last: Promise<void> = Promise.resolve();
  #destroyed = false;

  constructor(platform: Platform, post: (message: FromEngine, transfer: ArrayBuffer[]) => void) {
    this.#platform = platform;
    this.#post = post;
  }

  receive(message: ToEngine): void {
    switch (message.type) {
      case 'call':
        this.#start(message);
        break;
      case 'abort':
        this.#aborts.get(message.id)?.();
        this.#forget(message.id);
        break;
      case 'destroy':
        this.#destroy();
        break;
    }
  }

  /** Reports a failure outside of any call, in a task of the engine itself. */
  crash(error: unknown): void {
    const { message } = toWire(error);
    this.#post({ type: 'crashed', error: { kind: 'internal', message: `The engine has crashed: ${message}` } }, []);
  }

  #start(call: Call): void {
    const controller = new AbortController();
    this.#aborts.set(call.id, () => controller.abort());
    const { signal } = controller;
    // A trace from stored attention does not wait for the device either, so it can be shown during the next translation.
    const kept = call.method === 'trace' ? this.#keptTrace(call.input) : undefined;
    const immediate = kept !== undefined || IMMEDIATE.has(call.method);
    const turn = immediate ? Promise.resolve() : this.#last;
    const done = turn.then(() => this.#run(call, signal, kept));
    if (!immediate) this.#last = done;
  }

  async #run(call: Call, signal: AbortSignal, known?: Promise<WireTrace>): Promise<void> {
    try {
      if (signal.aborted || this.#destroyed) throw aborted();
      const value = await (known ?? this.#answer(call, signal));
      if (call.method === 'trace') this.#traceOf.set(call.id, (value as WireTrace).id);
      this.#post({ type: 'done', id: call.id, value }, buffersOf(value));
    } catch (error) {
      // A trap leaves the module in an unknown state.
      if (error instanceof WebAssembly.RuntimeError) this.crash(error);
      else this.#post({ type: 'failed', id: call.id, error: toWire(error) }, []);
    } finally {
      this.#aborts.delete(call.id);
    }
  }

  #answer(call: Call, signal: AbortSignal): Promise<Calls[Method]['output']> {
    switch (call.method) {
      case 'create':
        return this.#create(call.input, signal);
      case 'openTrace':
        return this.#openTrace(call.input);
      case 'traceMap':
        return this.#traces.map(call.input);
      case 'tracePaint':
        return this.#traces.paint(call.input, signal);
      case 'traceStatistics':
        return this.#traces.statistics(call.input, signal);
      case 'traceExplain':
        return this.#traces.explain(call.input);
      case 'traceFile':
        return this.#traces.file(call.input, signal);
      case 'closeTrace':
        return Promise.resolve(this.#traces.close(call.input));
      case 'colours':
        return Promise.resolve(colourTable(call.input));
      case 'checkDevice':
      case 'trainCreate':
      case 'trainSteps':
      case 'trainStep':
      case 'trainCheck':
      case 'trainPredict':
      case 'trainAttention':
      case 'trainColours':
      case 'trainFiles':
      case 'documentRead':
      case 'documentWrite':
        throw new WordloomError('internal', `The engine has no call ${call.method}: it belongs to another worker.`);
    }
    const engine = this.#engine;
    if (!engine) throw new WordloomError('internal', 'There is no model.');
    switch (call.method) {
      case 'translate':
        return this.#translate(engine, call.id, call.input.text, call.input.options, call.stream, signal);
      case 'generate':
        return this.#generate(engine, call.input, signal);
      case 'searchTree':
        return withAbort(signal, (abort) => engine.searchTree(call.input, abort));
      case 'mute':
        return engine.mute(call.input);
      case 'swapAttention':
        engine.swapAttention(call.input);
        return Promise.resolve(undefined);
      case 'setSwitches':
        return engine.setSwitches(call.input);
      case 'forward':
        return withAbort(signal, (abort) => engine.forward(call.input, abort));
      case 'attention':
        return withAbort(signal, (abort) => attentionMap(engine, call.input, abort, this.#info?.model.architecture));
      case 'explain':
        return withAbort(signal, async (abort) => explained(await engine.explain(call.input, abort)));
      case 'tokenize':
        return Promise.resolve(engine.tokenize(call.input));
      case 'detokenize':
        return Promise.resolve(engine.detokenize(call.input.ids, call.input.skipSpecialTokens));
      case 'memory':
        return Promise.resolve(engine.memory());
      case 'positions':
        return Promise.resolve(engine.positions(call.input));
      case 'trace':
        return this.#trace(engine, call.input, signal);
    }
  }

  async #create(options: WireCreate, signal: AbortSignal): Promise<Calls['create']['output']> {
    const report = (event: ProgressEvent) => this.#post({ type: 'progress', event }, []);
    const wasm = this.#platform.startWasm();
    wasm.catch(() => {}); // Awaited below; if the folder fails first, this must not be an unhandled rejection.
    const folder = await this.#platform.openFolder(options, report, signal, () => wasm.then(families));
    this.#folder = folder;
    let loading: Promise<Engine> | undefined;
    try {
      await wasm;
      // `ready` is reported below, after the check of the last file.
      const progress = (event: LoadEvent) => event.stage !== 'ready' && report(event);
      loading = Engine.load(folder.host, options.device, options.weights, options.passOver, {
        pause,
        progress,
        fastTokenizer: (of) => openTokenizer(of, (url) => this.#platform.fetchModule(url)),
      });
      const [engine] = await unless(signal, Promise.all([loading, folder.complete]));
      this.#engine = engine;
      report({ stage: 'ready' });
      this.#info = engine.info();
      await folder.loaded?.(this.#info.model);
      return this.#info;
    } catch (error) {
      // The call has failed already: destroy an engine that finishes later.
      loading?.then((engine) => engine.destroy()).catch(() => {});
      const cause = folder.failure() ?? error;
      folder.close();
      throw signal.aborted ? aborted() : await withoutDamaged(folder, cause);
    }
  }

  /** Closes the trace of an aborted call, which its caller never gets. */
  #forget(call: number): void {
    const trace = this.#traceOf.get(call);
    if (trace !== undefined) this.#traces.close(trace);
    this.#traceOf.delete(call);
  }

  async #trace(engine: Engine, input: WireTraceInput, signal: AbortSignal): Promise<WireTrace> {
    // the call before it may have stored the attention
    const kept = await this.#keptTrace(input);
    if (kept) return kept;
    const { scores, sentences } = apart(input);
    const trace = await withAbort(signal, (abort) => engine.trace({ ...input, sentences }, abort));
    return this.#traces.keep(trace, scores);
  }

  /** A trace from stored attention, if all of it is stored; rejects for invalid input. */
  #keptTrace(input: WireTraceInput): Promise<WireTrace> | undefined {
    try {
      const { scores, sentences } = apart(input);
      const trace = this.#engine?.keptTrace({ ...input, sentences });
      return trace && Promise.resolve(this.#traces.keep(trace, scores));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #openTrace(file: Calls['openTrace']['input']): Promise<WireTrace> {
    const wasm = this.#platform.startWasm();
    const [bytes] = await Promise.all([file instanceof Blob ? read(file) : file, wasm]);
    return this.#traces.keep(Trace.open(new Uint8Array(bytes)));
  }

  async #generate(engine: Engine, requests: GenerateRequest[], signal: AbortSignal): Promise<Generated[]> {
    const byDefault = this.#info?.defaults.sample === true;
    const seeded = requests.map((request) => withSeed(request, byDefault));
    const results = await withAbort(signal, (abort) => engine.generate(seeded, abort));
    return results.map((result, index) => addSeed(result, seeded[index]!, byDefault));
  }

  #translate(
    engine: Engine,
    id: number,
    text: string,
    options: Omit<TranslateOptions, 'signal'>,
    stream: boolean,
    signal: AbortSignal,
  ): Promise<Calls['translate']['output']> {
    const { attention, ...unseeded } = options;
    const byDefault = this.#info?.defaults.sample === true;
    const search = withSeed(unseeded, byDefault);
    const partial = (partial: Partial) => this.#post({ type: 'partial', id, partial }, []);
    return withAbort(signal, async (abort) => {
      const result = await engine.translate(text, search, abort, stream ? partial : undefined);
      const translation = addSeed(result, search, byDefault);
      if (attention) {
        const map = await attentionOf(engine, translation, attention, abort);
        if (map) translation.attention = map;
      }
      return translation;
    });
  }

  #destroy(): void {
    this.#destroyed = true;
    for (const abort of this.#aborts.values()) abort();
    this.#traces.closeAll();
    this.#engine?.destroy();
    this.#engine = undefined;
    this.#folder?.close();
    this.#post({ type: 'destroyed' }, []);
  }
}

/** The error of `create`. A stored file that the engine calls damaged is removed, or else every later call would find it. */
async function withoutDamaged(folder: OpenFolder, cause: unknown): Promise<unknown> {
  const error = toWire(cause);
  if (error.code !== 'damaged-file' || !(await folder.forget?.(String(error.values?.['file'])))) return cause;
  return fromWire({ ...error, message: `${error.message}. The stored file was removed: the next call downloads it again.` });
}

/** Runs `work` with an `Abort` that follows `signal`. */
async function withAbort<T>(signal: AbortSignal, work: (abort: Abort) => Promise<T>): Promise<T> {
  const abort = new Abort(IDLE_HOST);
  const forward = () => abort.abort();
  signal.addEventListener('abort', forward, { once: true });
  try {
    return await work(abort);
  } finally {
    signal.removeEventListener('abort', forward);
    abort.free();
  }
}

/** The result of `work`, or a rejection as soon as `signal` fires. */
function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(aborted());
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

async function read(file: Blob): Promise<ArrayBuffer> {
  try {
    return await file.arrayBuffer();
  } catch (error) {
    throw new WordloomError('input', 'The file could not be read: choose it once more.', { cause: error });
  }
}

/** The buffers of typed arrays anywhere in `value`, to transfer instead of copying. */
function buffersOf(value: unknown): ArrayBuffer[] {
  if (value instanceof Float32Array || value instanceof Uint8Array || value instanceof Uint8ClampedArray) {
    const { buffer, byteLength } = value;
    return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
  }
  if (Array.isArray(value)) return typeof value[0] === 'object' ? value.flatMap(buffersOf) : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(buffersOf) : [];
}

/** Separates scores, which the engine does not need, from a trace's sentences. */
function apart(input: WireTraceInput): { scores: Token[][]; sentences: WirePair[] } {
  return {
    scores: input.sentences.map(({ tokens }) => tokens),
    sentences: input.sentences.map(({ tokens: _, ...pair }) => pair),
  };
}
