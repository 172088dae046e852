/** Training in a browser: small encoder–decoders on made-up tasks or pasted pairs. */
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
      throw error;
    }
  }

  /** Takes steps. Between them, other calls are answered. An abort keeps the steps so far; `train` can be called again. */
  async train({
    steps,
    signal,
    onProgress,
  }: CallOptions & { steps: number; onProgress?: (progress: TrainProgress) => void }): Promise<TrainProgress> {
    if (!Number.isInteger(steps) || steps < 1) {
      throw new WordloomError('input', `steps is ${String(steps)}; it must be a whole number of at least 1.`);
    }
    return this.#client.call('trainSteps', steps, signal, onProgress);
  }

  /** Validates with up to 64 pairs, and returns the first `samples` (default 8) with the model's outputs. */
  async check({ samples = 8, signal }: CallOptions & { samples?: number } = {}): Promise<TrainCheck> {
    return this.#client.call('trainCheck', samples, signal);
  }

  /** The most probable output of an input. */
  async predict(input: string, { signal }: CallOptions = {}): Promise<string> {
    return this.#client.call('trainPredict', string(input), signal);
  }

  /** The attention of all layers and heads for an input and its most probable output; without an input, for the first pair for validation. */
  async attention(input?: string, { signal }: CallOptions = {}): Promise<TrainedAttention> {
    return this.#client.call('trainAttention', input === undefined ? undefined : string(input), signal);
  }

  /** 256 colours of a colour map, red, green and blue, for weights from 0 to 1. */
  async colours(map: ColourMap): Promise<Uint8Array> {
    return this.#client.call('trainColours', map);
  }

  /** The model's folder: the page and every command open it. `state`: and the files to resume with. */
  async save({ state = false, signal }: CallOptions & { state?: boolean } = {}): Promise<TrainedFiles> {
    return this.#client.call('trainFiles', state, signal);
  }

  /** Frees the device's memory and ends the worker. Pending calls reject as aborted. */
  destroy(): void {
    this.#client.destroy();
  }
}

const DEVICES = ['auto', 'gpu', 'cpu'];

/** Checks what TypeScript would, because the wasm module gets JSON. */
function toWire(options: TrainerOptions): WireTraining {
  const { task, pairs, model, recipe, resume, device = 'auto', signal: _, ...unknown } = options;
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw new WordloomError('input', `There is no option "${name}".`);
  if (!DEVICES.includes(device)) {
    throw new WordloomError('input', `device is "${String(device)}"; it must be "auto", "gpu" or "cpu".`);
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

function lines(pairs: string | readonly (readonly [string, string])[]): string {
  if (typeof pairs === 'string') return pairs;
  // a tab or a line break inside of a text would be another pair
  return pairs.map((pair) => pair.map((side) => string(side).replace(/\s+/gu, ' ')).join('\t')).join('\n');
}

function string(text: unknown): string {
  if (typeof text === 'string') return text;
  throw new WordloomError('input', `A text must be a string, and is ${text === null ? 'null' : typeof text}.`);
}
