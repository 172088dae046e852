/** The encoder layers with another kind of self-attention: their choice and their names. */
import { batch, computed, signal } from '@preact/signals';

import { explainWork, isAbort } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { dismissAll, notify } from '../notices.ts';
import { runs } from '../words.ts';
import { t, told } from '../texts/texts.ts';

/** Kinds that need no weights of their own, and their names in a sentence. */
export const SWAPS = [
  { value: 'window:1', label: 'window of 1' },
  { value: 'window:2', label: 'window of 2' },
  { value: 'window:4', label: 'window of 4' },
  { value: 'window:8', label: 'window of 8' },
  { value: 'window:16', label: 'window of 16' },
  { value: 'full', label: 'full attention' },
  { value: 'uniform', label: 'equal weights' },
  { value: 'shared-qk', label: 'queries as keys' },
  { value: 'blocks:2', label: 'blocks of 2' },
  { value: 'linformer:2', label: 'projection to 2 (approximation)' },
  { value: 'linformer:4', label: 'projection to 4 (approximation)' },
  { value: 'linformer:8', label: 'projection to 8 (approximation)' },
  { value: 'additive', label: 'additive scores (approximation)' },
] as const;
export type Swap = (typeof SWAPS)[number]['value'];

/** The kind of each swapped layer. */
export type Swaps = ReadonlyMap<number, Swap>;

interface Choice {
  /** The engine of the swapped layers; a newly loaded model has none. */
  readonly engine: Running | null;
  readonly swaps: Swaps;
}

const NONE: Swaps = new Map();
const chosen = signal<Choice>({ engine: null, swaps: NONE });

export const swapped = computed<Swaps>(() => (chosen.value.engine === running.value ? chosen.value.swaps : NONE));

/** As the engine takes it: `encoder.2=window:8`; empty if no layer is swapped. */
export const swappedText = computed(() => textOf(swapped.value));

function textOf(swaps: Swaps): string {
  const layers = [...swaps].sort(([a], [b]) => a - b);
  return layers.map(([layer, kind]) => `encoder.${layer}=${kind}`).join();
}

/** Gives these layers another kind; `null`: their own. */
export function swap(layers: readonly number[], kind: Swap | null): void {
  const next = new Map(swapped.peek());
  for (const layer of layers) {
    if (kind === null) next.delete(layer);
    else next.set(layer, kind);
  }
  set(next);
}

export function swapNone(): void {
  set(NONE);
}

/** Swaps exactly these layers, in the engine's words. Words that the page itself does not make are ignored. */
export function swapOnly(text: string): void {
  const next = new Map<number, Swap>();
  for (const [, layer, kind] of text.matchAll(/encoder\.(\d{1,4})=([a-z:0-9-]+)/g)) {
    const known = SWAPS.find(({ value }) => value === kind);
    if (known !== undefined) next.set(Number(layer), known.value);
  }
  if (textOf(next) !== swappedText.peek()) set(next);
}

/** The engine runs calls in order, so later calls use these kinds, and the change counts at once. */
function set(swaps: Swaps): void {
  const engine = running.peek();
  if (engine === null) return;
  const before = swapped.peek();
  engine.translator.swapAttention(textOf(swaps)).then(
    () => dismissAll('swap'),
    (error: unknown) => {
      if (isAbort(error)) return;
      const retry = { label: 'Try again', run: () => set(swaps) };
      batch(() => {
        if (chosen.peek().swaps === swaps) chosen.value = { engine, swaps: before };
        notify(explainWork(error, 'swap', retry, { label: 'Load the model again', run: () => void reload() }));
      });
    },
  );
  chosen.value = { engine, swaps };
}

/** `encoder layers 1, 3: window of 8`, for each kind. */
export function describeSwaps(swaps: Swaps): string[] {
  return SWAPS.flatMap(({ value, label }) => {
    const layers = [...swaps].filter(([, kind]) => kind === value).map(([layer]) => layer + 1);
    if (layers.length === 0) return [];
    const text = layers.length === 1 ? 'encoder layer {layers}: {kind}' : 'encoder layers {layers}: {kind}';
    return [t(text, { layers: runs(layers), kind: told(label) })];
  });
}
