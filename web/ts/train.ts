/** Training in a browser: small encoder–decoders on made-up tasks or pasted pairs. */
import { checkFunction, checkSignal, COLOUR_MAPS, oneOf, onlyKnown, onlyOptions, shown, string, trueOrFalse, wholeNumber } from './check-input.js';
import { Client } from './client.js';
import { aborted, WordloomError } from './errors.js';
import type { ColourMap } from './trace-types.js';
import { trainChannel } from './train-channel.js';
import type {
  TrainCheck,
  TrainedAttention,
  TrainedFiles,
  TrainerInfo,
  TrainerOptions,
  TrainProgress,
  WireTraining,
} from './train-types.js';
import type { CallOptions } from './types.js';

export type {
  NewTraining,
  RecipeOptions,
  ResumedTraining,
  TaskOptions,
  TaskRule,
  TrainCheck,
  TrainedAttention,
  TrainedFiles,
  TrainedModelOptions,
  TrainerInfo,
  TrainerOptions,
  TrainProgress,
} from './train-types.js';
export { WordloomError, type ErrorKind } from './errors.js';

/** A model in training, in a worker of its own. */
export class Trainer {
  readonly info: TrainerInfo;
  readonly #client: Client;

  /** Trainers come from `Trainer.create`. */
  private constructor(client: Client, info: TrainerInfo) {
    if (!(client instanceof Client)) throw new WordloomError('input', 'A trainer comes from `await Trainer.create()`.');
    this.#client = client;
    this.info = info;
  }

  /** Makes a model with random weights, or goes on with a stored training. */
  static async create(options: TrainerOptions = {}): Promise<Trainer> {
    const wire = toWire(options);
    if (options.signal?.aborted) throw aborted('The training was stopped.');
    const client = new Client(trainChannel('Training'), undefined);
    try {
      return new Trainer(client, await client.call('trainCreate', wire, options.signal));
    } catch (error) {
      client.destroy();
      if (error instanceof WordloomError) error.message = withOptionName(error.message);
      throw error;
    }
  }

  /** Takes steps. Between them, other calls are answered. An abort keeps the steps so far; `train` can be called again. */
  async train(options: CallOptions & { steps: number; onProgress?: (progress: TrainProgress) => void }): Promise<TrainProgress> {
    onlyKnown('The argument of train', options, ['steps', 'signal', 'onProgress']);
    const { steps, signal, onProgress } = options;
    checkFunction(onProgress, 'onProgress');
    if (!Number.isInteger(steps) || steps < 1) {
      throw new WordloomError('input', `steps is ${String(steps)}; it must be a whole number of at least 1.`);
    }
    // an abort keeps the steps so far, too
    const training = this.#client.call('trainSteps', steps, signal, (progress: TrainProgress) => {
      this.info.step = progress.step;
      onProgress?.(progress);
    });
    training.catch(() => this.#learnStep());
    return training;
  }

  /** Asks for the number of steps: the progress of an aborted call is dropped, and its last steps count. */
  async #learnStep(): Promise<void> {
    const step = await this.#client.call('trainStep', undefined).catch(() => undefined);
    this.info.step = step ?? this.info.step;
  }

  /** Validates with up to 64 pairs, and returns the first `samples` (default 8) with the model's outputs. */
  async check(options: CallOptions & { samples?: number } = {}): Promise<TrainCheck> {
    onlyOptions(options, ['samples', 'signal']);
    const { samples = 8, signal } = options ?? {};
    return this.#client.call('trainCheck', wholeNumber(samples, 'samples'), signal);
  }

  /** The most probable output of an input. */
  async predict(input: string, options: CallOptions = {}): Promise<string> {
    onlyOptions(options);
    return this.#client.call('trainPredict', string(input, 'input'), options?.signal);
  }

  /** The attention of all layers and heads for an input and its most probable output; without an input, for the first pair for validation. */
  async attention(input?: string, options: CallOptions = {}): Promise<TrainedAttention> {
    onlyOptions(options);
    return this.#client.call('trainAttention', input === undefined ? undefined : string(input, 'input'), options?.signal);
  }

  /** 256 colours of a colour map, red, green and blue, for weights from 0 to 1. */
  async colours(map: ColourMap): Promise<Uint8Array> {
    return this.#client.call('trainColours', oneOf('map', map, COLOUR_MAPS));
  }

  /** The model's folder: the page and every command open it. `state`: and the files to resume with. */
  async save(options: CallOptions & { state?: boolean } = {}): Promise<TrainedFiles> {
    onlyOptions(options, ['state', 'signal']);
    const { state = false, signal } = options ?? {};
    return this.#client.call('trainFiles', trueOrFalse(state, 'state'), signal);
  }

  /** Frees the device's memory and ends the worker. Pending calls reject as aborted. */
  destroy(): void {
    this.#client.destroy('The trainer was destroyed.');
  }
}

const DEVICES = ['auto', 'gpu', 'cpu'] as const;
const OPTIONS = ['task', 'pairs', 'model', 'recipe', 'resume', 'device', 'signal'];

/** Checks what TypeScript would, because the wasm module gets JSON. */
function toWire(options: TrainerOptions): WireTraining {
  onlyKnown('The argument of create', options, OPTIONS);
  const { task, pairs, model, recipe, resume, device = 'auto', signal } = options;
  oneOf('device', device, DEVICES);
  checkSignal(signal);
  checkNumbers('model', model, ['layers', 'dModel', 'heads', 'ffn'], [], ['preNorm']);
  checkNumbers('recipe', recipe, ['batch', 'warmup'], ['rate', 'dropout', 'labelSmoothing', 'seed']);
  // `info.options` of a trainer, which can make another one, has pairs here
  if (typeof task !== 'string') checkNumbers('task', task, ['symbols', 'shortest', 'longest'], [], ['rule', 'pairs']);
  if (resume !== undefined && !areFiles(resume)) {
    throw new WordloomError('input', 'resume must be the files of `trainer.save({ state: true })`.');
  }
  const given = [task, pairs, resume].filter((one) => one !== undefined).length;
  if (given > 1 || (resume && (model || recipe))) {
    throw new WordloomError('input', 'Give one of task, pairs and resume; a resumed training keeps its model and recipe.');
  }
  if (resume) return { options: null, resume, device };
  const rule = typeof task === 'string' ? { rule: task } : task;
  const data = pairs === undefined ? rule : { pairs: lines(pairs) };
  return { options: JSON.stringify({ task: data, model, recipe }), resume: null, device };
}

/** The engine's words for options of `create`. */
const WORDS: Record<string, string> = {
  d_model: 'model.dModel',
  'the batch': 'recipe.batch',
  'the warm-up': 'recipe.warmup',
  'the factor of the learning rate': 'recipe.rate',
  'label smoothing': 'recipe.labelSmoothing',
};

/** A message of the engine with the name of the option that the caller wrote. */
function withOptionName(message: string): string {
  return message.replace(/^(.+?)(?= is )/, (words) => WORDS[words] ?? words);
}

/** Checks an object of numbers, of which some are whole. */
function checkNumbers(name: string, given: object | undefined, whole: readonly string[], any: readonly string[], rest: readonly string[] = []): void {
  if (given === undefined) return;
  onlyKnown(name, given, [...whole, ...any, ...rest]);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || rest.includes(key)) continue;
    if (key === 'seed' && !(Number.isSafeInteger(value) && value >= 0)) {
      throw new WordloomError('input', `${name}.seed is ${shown(value)}; it must be a whole number from 0 on.`);
    }
    if (whole.includes(key)) wholeNumber(value, `${name}.${key}`);
    else if (!Number.isFinite(value)) throw new WordloomError('input', `${name}.${key} is ${shown(value)}; it must be a number.`);
  }
}

function areFiles(files: unknown): files is Record<string, Uint8Array> {
  return typeof files === 'object' && files !== null && Object.values(files).every((file) => file instanceof Uint8Array);
}

function lines(pairs: string | readonly (readonly [string, string])[]): string {
  if (typeof pairs === 'string') return pairs;
  if (!Array.isArray(pairs) || !pairs.every((pair) => Array.isArray(pair) && pair.length === 2)) {
    throw new WordloomError('input', 'pairs must be a list of [source, target], or lines with a tab between both.');
  }
  // a tab or a line break inside of a text would be another pair
  return pairs.map((pair: [string, string]) => pair.map((side) => string(side, 'A text of pairs').replace(/\s+/gu, ' ')).join('\t')).join('\n');
}
