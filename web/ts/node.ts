/** The package in Node: the same engine, on the CPU. */
import { existsSync } from 'node:fs';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { pathToFileURL } from 'node:url';
import { type Availability, type LanguagePair, translates } from './availability.js';
import { bundledModel } from './bundled-model.js';
import { onlyOptions } from './check-input.js';
import { WordloomError } from './errors.js';
import { DESCRIBE_OPTIONS, describeHubModel as describe, type HubModel } from './hub-model.js';
import { hubName } from './hub-name.js';
import { inThread } from './in-thread.js';
import type { Channel } from './protocol.js';
import { checkNames, toWire } from './source.js';
import { Client } from './client.js';
import { openTraceBehind, type OpenTraceOptions, type Trace } from './trace.js';
import { connect, TranslatorBase } from './translator.js';
import type { CreateOptions } from './types.js';

export * from './types.js';
export { Trace } from './trace.js';
export { WordloomError, type ErrorKind } from './errors.js';
export { DOCUMENT_ENDINGS } from './document-endings.js';
export type { HubModel } from './hub-model.js';
export { type HubName, hubName } from './hub-name.js';
export { type ListedModel, type ModelList, readModelList } from './model-list.js';
export { removeStoredModel, type StoredModel, storedModels } from './stored-models.js';
export type { Availability, LanguagePair } from './availability.js';

/** Asks the hub about a model, `owner/name` or `owner/name@revision`. It downloads no file. */
export async function describeHubModel(model: string, options: Parameters<typeof describe>[1] = {}): Promise<HubModel> {
  onlyOptions(options, DESCRIBE_OPTIONS);
  return describe(model, { ...options, ...ofEnvironment(options) });
}

/** The hub's address and token, from the environment where they are not given. */
function ofEnvironment(options: Pick<CreateOptions, 'endpoint' | 'token'> | undefined) {
  const { HF_ENDPOINT, HF_TOKEN } = process.env;
  const { endpoint = HF_ENDPOINT?.trim() || undefined, token = HF_TOKEN?.trim() || undefined } = options ?? {};
  return { endpoint, token };
}

export class Translator extends TranslatorBase {
  /**
   * Loads a model (default: the bundled one, English to German). `model` may also be the path of a folder; `a/b` is a path if it
   * exists, and else a name of the hub.
   */
  static async create(options: CreateOptions = {}): Promise<Translator> {
    const here = pathToFileURL(`${process.cwd()}/`).href;
    checkNames(options);
    const { model } = options;
    const name = typeof model === 'string' ? hubName(model) : undefined;
    const isPath = typeof model === 'string' && model.trim() !== '' && !/^[a-z][a-z\d+.-]+:/i.test(model) && (!name || existsSync(model));
    const local = { ...options, ...(isPath ? { model: pathToFileURL(model) } : name ? ofEnvironment(options) : {}) };
    const wire = toWire(local, ownModel(), here);
    if (wire.device === 'gpu') {
      throw new WordloomError('unsupported', 'Node has no WebGPU: use device "cpu", or the wordloom command for a GPU.');
    }
    const isChosen = wire.device === 'auto';
    wire.device = 'cpu';
    const { client, info } = await connect(options.worker === false ? directChannel : threadChannel, wire, options);
    const device = isChosen ? { ...info.device, notice: 'running on CPU (Node has no WebGPU)' } : info.device;
    return new Translator(client, { ...info, device });
  }

  /** Whether the bundled model translates this pair. */
  static async availability(pair: LanguagePair = {}): Promise<Availability> {
    return translates(pair) ? 'available' : 'unavailable';
  }
}

/** Opens a trace file, JSON or safetensors, without a model, in a separate thread that ends with `close`. */
export async function openTrace(
  file: Blob | ArrayBuffer | Uint8Array,
  options: OpenTraceOptions = {},
): Promise<Trace> {
  const open = (worker: boolean) => (worker ? threadChannel() : directChannel());
  return openTraceBehind((channel) => new Client(channel, undefined), open, file, options);
}

/** A channel to a thread. A process without `destroy()` still ends when no call is pending. */
function threadChannel(): Channel {
  const worker = startWorker();
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, crash) {
      worker.on('message', receive);
      worker.on('messageerror', crash);
      worker.on('error', (error) => crash(isMissing(error) ? bundled(error) : error));
    },
    busy: (waiting) => (waiting ? worker.ref() : worker.unref()),
    close: () => void worker.terminate(),
  };
}

function startWorker(): Worker {
  const start = (options: WorkerOptions) => new Worker(new URL('./worker-node.js', import.meta.url), { name: 'wordloom', ...options });
  // a worker has a file, so it takes no option of a program that has none
  const execArgv = process.execArgv.filter((option) => !/^(--input-type\b|-[ep]$|--eval$|--print$)/.test(option));
  try {
    // without a list, a worker gets the process's options, and Node passes over those of the whole process, such as
    // --max-old-space-size; in a list, Node refuses them
    return start(execArgv.length < process.execArgv.length ? { execArgv } : {});
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_INVALID_EXEC_ARGV') return start({ execArgv: [] });
    // of a URL, or of a name that a bundler has put in its place
    if (error instanceof TypeError || error instanceof ReferenceError) throw bundled(error);
    const why = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
    throw new WordloomError('unsupported', `Node starts no thread here: ${why}. Allow it, or pass worker: false.`, { cause: error });
  }
}

/** The package's model, unless a bundler has taken its address away. */
function ownModel(): ReturnType<typeof bundledModel> {
  try {
    return bundledModel();
  } catch (error) {
    throw bundled(error);
  }
}

function isMissing(error: unknown): boolean {
  return /MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException | undefined)?.code));
}

/** The error for a program whose bundler has moved this file away from the worker and the model. */
function bundled(cause: unknown): WordloomError {
  const fix = 'Keep "wordloom" out of the bundle: esbuild --external:wordloom, webpack externals, Vite ssr.external, Next.js serverExternalPackages';
  return new WordloomError('unsupported', `A bundler has separated Wordloom from its worker or its model. ${fix}.`, { cause });
}

function directChannel(): Channel {
  return inThread(async (post) => {
    const [{ Server }, { node }] = await Promise.all([import('./server.js'), import('./platform-node.js')]);
    return new Server(node, post);
  });
}
