/** The choice of task, model and recipe for the next training. */
import { batch as together, signal } from '@preact/signals';
import type { TaskRule, TrainerInfo, TrainerOptions } from 'wordloom/train';

import { device } from '../settings.ts';
import type { Text } from '../texts/texts.ts';

export type TaskChoice = TaskRule | 'pairs';

export interface Knob {
  readonly id: KnobName;
  readonly label: Text;
  /** One line, with the section of "Attention Is All You Need". */
  readonly hint: Text;
  readonly values: readonly number[];
}

export type KnobName = 'layers' | 'dModel' | 'heads' | 'batch' | 'warmup' | 'rate' | 'dropout' | 'labelSmoothing';

/** The values of sliders, so that a width is always a multiple of the heads. */
export const KNOBS: readonly Knob[] = [
  {
    id: 'layers',
    label: 'Layers',
    hint: 'The encoder and the decoder each stack this many; the paper’s N is 6. Section 3.1.',
    values: [1, 2, 3, 4],
  },
  {
    id: 'dModel',
    label: 'Width, d_model',
    hint: 'Numbers that stand for a token between layers; the paper has 512. Section 3.1.',
    values: [16, 32, 64, 128],
  },
  {
    id: 'heads',
    label: 'Heads',
    hint: 'Attentions side by side, each over its share of the width. Section 3.2.2.',
    values: [1, 2, 4, 8],
  },
  {
    id: 'batch',
    label: 'Pairs of a batch',
    hint: 'Examples of one step; their gradients are averaged. Section 5.1.',
    values: [8, 16, 32, 64, 128],
  },
  {
    id: 'warmup',
    label: 'Warm-up',
    hint: 'Steps in which the learning rate grows; then it falls with the root of the step. Section 5.3.',
    values: [50, 100, 200, 400, 800, 1600],
  },
  {
    id: 'rate',
    label: 'Learning rate',
    hint: 'A factor of the paper’s formula. Too high, and the loss jumps. Section 5.3, equation 3.',
    values: [0.05, 0.1, 0.2, 0.5, 1, 2],
  },
  {
    id: 'dropout',
    label: 'Dropout',
    hint: 'Share of values that a step leaves out, against learning by heart. Section 5.4.',
    values: [0, 0.05, 0.1, 0.2, 0.3],
  },
  {
    id: 'labelSmoothing',
    label: 'Label smoothing',
    hint: 'Probability that is taken from the right symbol and spread over all. Section 5.4.',
    values: [0, 0.05, 0.1, 0.2],
  },
];

export const DEFAULTS: Record<KnobName, number> = {
  layers: 2,
  dModel: 64,
  heads: 4,
  batch: 64,
  warmup: 400,
  rate: 0.5,
  dropout: 0,
  labelSmoothing: 0,
};

export const TASKS: readonly { id: TaskChoice; label: Text; hint: Text }[] = [
  { id: 'copy', label: 'Copy', hint: 'Eight letters of sixteen, again in the same order.' },
  { id: 'reverse', label: 'Reverse', hint: 'Eight letters of sixteen, the last one first.' },
  { id: 'sort', label: 'Sort', hint: 'Eight letters of sixteen, in alphabetical order.' },
  {
    id: 'numbers',
    label: 'Spell numbers',
    hint: '0 to 9,999 in Spanish words. One number in ten is kept for validation.',
  },
  {
    id: 'pairs',
    label: 'Your pairs',
    hint: 'Lines of a text, a tab or an arrow (→ or ->), and its answer. From twenty pairs on, one in ten is kept for validation.',
  },
];

/** Something to begin with: English plurals. */
const EXAMPLE_PAIRS = [
  'cat\tcats',
  'dog\tdogs',
  'bus\tbuses',
  'box\tboxes',
  'city\tcities',
  'baby\tbabies',
  'boy\tboys',
  'day\tdays',
  'leaf\tleaves',
  'wolf\twolves',
].join('\n');

export const task = signal<TaskChoice>('copy');
export const knobs = signal<Record<KnobName, number>>(DEFAULTS);
export const preNorm = signal(false);
export const pastedPairs = signal(EXAMPLE_PAIRS);

/** The options of the next training. */
export function trainerOptions(): TrainerOptions {
  const { layers, dModel, heads, batch, warmup, rate, dropout, labelSmoothing } = knobs.peek();
  const chosen = task.peek();
  return {
    ...(chosen === 'pairs' ? { pairs: withTabs(pastedPairs.peek()) } : { task: chosen }),
    model: { layers, dModel, heads, ffn: 4 * dModel, preNorm: preNorm.peek() },
    recipe: { batch, warmup, rate, dropout, labelSmoothing },
    device: device.peek(),
  };
}

/** Arrows stand for tabs, which a keyboard cannot type here. */
function withTabs(text: string): string {
  const tabbed = (line: string): string => (line.includes('\t') ? line : line.replace(/\s*(?:→|->)\s*/u, '\t'));
  return text.split('\n').map(tabbed).join('\n');
}

/** Shows the options of a training that was stored. */
export function showOptions({ task: { rule, pairs }, model, recipe }: TrainerInfo['options']): void {
  const { layers, dModel, heads } = model;
  const { batch, warmup, rate, dropout, labelSmoothing } = recipe;
  // the module keeps these numbers in 32 bits
  const tidy = (share: number): number => Number(share.toPrecision(6));
  together(() => {
    task.value = pairs === null ? rule : 'pairs';
    if (pairs !== null) pastedPairs.value = pairs;
    preNorm.value = model.preNorm;
    knobs.value = {
      layers,
      dModel,
      heads,
      batch,
      warmup,
      rate,
      dropout: tidy(dropout),
      labelSmoothing: tidy(labelSmoothing),
    };
  });
}
