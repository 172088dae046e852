/** The types of training. */
import type { ColourMap } from './trace-types.js';
import type { AttentionKind, EngineInfo } from './types.js';

/** Made-up data: what is done with a sequence of letters, or numbers spelled in Spanish. */
export type TaskRule = 'copy' | 'reverse' | 'sort' | 'numbers';

/** A made-up task. */
export interface TaskOptions {
  rule: TaskRule;
  /** Letters of the alphabet, 2 to 26. Default 16. */
  symbols?: number;
  /** Letters of the shortest sequence. Default 8. */
  shortest?: number;
  /** Letters of the longest sequence, at most 64. Default 8. Validation has this length. */
  longest?: number;
}

/** Sizes of the model. "Attention Is All You Need", section 3. */
export interface TrainedModelOptions {
  /** Layers of the encoder, and of the decoder, 1 to 6. Default 2. */
  layers?: number;
  /** Width of all layers, even and a multiple of `heads`, 8 to 512. Default 64. */
  dModel?: number;
  /** Heads of each attention, 1 to 16. Default 4. Section 3.2.2. */
  heads?: number;
  /** Inner width of the feed-forward networks, 8 to 2048. Default 256. Section 3.3. */
  ffn?: number;
  /** Norms before the sublayers, not after the residual sums as in section 3.1. Default `false`. */
  preNorm?: boolean;
}

/** How it is trained. Section 5. */
export interface RecipeOptions {
  /** Pairs of a batch, 1 to 1024. Default 64. */
  batch?: number;
  /** Steps in which the learning rate grows. Default 400. Section 5.3. */
  warmup?: number;
  /** Factor of the paper's learning rate. Default 0.5. Section 5.3. */
  rate?: number;
  /** Share of values that are dropped. Default 0. Section 5.4. */
  dropout?: number;
  /** Share of probability that is spread over all symbols. Default 0. Section 5.4. */
  labelSmoothing?: number;
  /** Seed of weights, batches and dropout. Default 1. */
  seed?: number;
}

/** A model with random weights, and its data. Default: the task `copy`. */
export interface NewTraining {
  /** A made-up task. Default: `copy`. */
  task?: TaskRule | TaskOptions;
  /** Pairs instead of a task: `[source, target]`, or lines with a tab between them. A character is a symbol. */
  pairs?: string | readonly (readonly [string, string])[];
  model?: TrainedModelOptions;
  recipe?: RecipeOptions;
  resume?: undefined;
}

/** A stored training. */
export interface ResumedTraining {
  /** Files of `trainer.save({ state: true })`: the training goes on with them. */
  resume: Record<string, Uint8Array>;
  task?: undefined;
  pairs?: undefined;
  model?: undefined;
  recipe?: undefined;
}

/** Options of `Trainer.create`. */
export type TrainerOptions = (NewTraining | ResumedTraining) & {
  /** `auto` (default): a hardware GPU, or else the CPU. `gpu` also takes software adapters. */
  device?: 'auto' | 'gpu' | 'cpu';
  /** Stops `create`. */
  signal?: AbortSignal;
};

/** Files by name. */
export type TrainedFiles = Record<string, Uint8Array<ArrayBuffer>>;

/** The device and the model of a trainer. */
export interface TrainerInfo {
  device: EngineInfo['device'];
  /** All options with their defaults. */
  options: {
    task: Required<TaskOptions> & { pairs: string | null };
    model: Required<TrainedModelOptions>;
    recipe: Required<RecipeOptions>;
  };
  /** Number of trained values. */
  parameters: number;
  /** Size of the vocabulary, with three special tokens. */
  symbols: number;
  /** Tokens of the longest side, with the end token. */
  longest: number;
  /** Whether validation has only pairs that are not trained on. Fewer than twenty pasted pairs are both. */
  holdsOut: boolean;
  /** Steps so far; `train` counts on. */
  step: number;
}

/** Means over the labels of some steps. */
export interface TrainProgress {
  /** Number of steps so far. */
  step: number;
  /** Mean of −log p of a label, nats. */
  loss: number;
  /** Share of labels that had the highest probability. */
  accuracy: number;
  /** Number of labels. */
  tokens: number;
  learningRate: number;
}

/** A validation. */
export interface TrainCheck {
  step: number;
  /** Mean of −log p of a label, nats, without dropout. */
  loss: number;
  accuracy: number;
  /** Number of pairs whose whole output is right. */
  right: number;
  /** Number of pairs. */
  count: number;
  /** The first pairs. */
  samples: { source: string; expected: string; got: string }[];
}

/** The attention of all layers and heads for one pair. */
export interface TrainedAttention extends Record<AttentionKind, { shape: [heads: number, queries: number, keys: number]; weights: Float32Array }[]> {
  /** Source tokens: queries and keys of `encoder`, keys of `cross`. */
  source: string[];
  /** Target tokens: each is said by the query of its position. */
  target: string[];
}

export interface WireTraining {
  /** JSON of the wasm module's options. */
  options: string | null;
  resume: Record<string, Uint8Array> | null;
  device: 'auto' | 'gpu' | 'cpu';
}

/** Every call of a training, with its input and output. */
export interface TrainCalls {
  trainCreate: { input: WireTraining; output: TrainerInfo };
  trainSteps: { input: number; output: TrainProgress };
  trainStep: { input: undefined; output: number };
  trainCheck: { input: number; output: TrainCheck };
  trainPredict: { input: string; output: string };
  trainAttention: { input: string | undefined; output: TrainedAttention };
  trainColours: { input: ColourMap; output: Uint8Array };
  trainFiles: { input: boolean; output: TrainedFiles };
}
