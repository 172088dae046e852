/** The muted heads: their choice and their names. */
import { batch, computed, signal } from '@preact/signals';
import type { AttentionKind, HeadName } from 'wordloom';

import { kindName } from '../attention/labels.ts';
import { explainWork, isAbort } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { dismissAll, notify } from '../notices.ts';
import { runs } from '../words.ts';
import { t } from '../texts/texts.ts';

interface Choice {
  /** The engine of the muted heads; a newly loaded model has none. */
  readonly engine: Running | null;
  readonly heads: readonly HeadName[];
}

const chosen = signal<Choice>({ engine: null, heads: [] });

export const muted = computed<readonly HeadName[]>(() =>
  chosen.value.engine === running.value ? chosen.value.heads : NONE,
);
const NONE: readonly HeadName[] = [];

export interface Head {
  readonly kind: AttentionKind;
  readonly layer: number;
  readonly head: number;
}

export function nameOf({ kind, layer, head }: Head): HeadName {
  return `${kind}.${layer}.${head}`;
}

export function isMuted(head: Head): boolean {
  return muted.value.includes(nameOf(head));
}

export function muteAlso(head: Head): void {
  set([...muted.peek(), nameOf(head)]);
}

export function unmute(head: Head): void {
  set(muted.peek().filter((name) => name !== nameOf(head)));
}

/** Mutes the other `count - 1` heads of its layer. */
export function isolate(head: Head, count: number): void {
  const others = muted.peek().filter((name) => !name.startsWith(`${head.kind}.${head.layer}.`));
  const own = Array.from({ length: count }, (_, index) => nameOf({ ...head, head: index }));
  set([...others, ...own.filter((name) => name !== nameOf(head))]);
}

export function unmuteAll(): void {
  set([]);
}

/** Mutes exactly these heads. */
export function muteOnly(heads: readonly HeadName[]): void {
  if (heads.join() !== muted.peek().join()) set(heads);
}

/** Mutes heads. The engine runs calls in order, so later calls use these heads, and the change counts at once. */
function set(heads: readonly HeadName[]): void {
  const engine = running.peek();
  if (engine === null) return;
  const before = muted.peek();
  engine.translator.mute(heads).then(
    () => dismissAll('mute'),
    (error: unknown) => {
      if (isAbort(error)) return;
      const retry = { label: 'Try again', run: () => set(heads) };
      batch(() => {
        if (chosen.peek().heads === heads) chosen.value = { engine, heads: before };
        notify(explainWork(error, 'mute', retry, { label: 'Load the model again', run: () => void reload() }));
      });
    },
  );
  chosen.value = { engine, heads };
}

/** `cross-attention, layer 3: heads 1, 2, 4–8`, for each layer. */
export function describe(heads: readonly HeadName[]): string[] {
  const layers = new Map<string, number[]>();
  for (const name of heads) {
    const [kind = '', layer = '', head = ''] = name.split('.');
    const key = `${kind}.${layer}`;
    layers.set(key, [...(layers.get(key) ?? []), Number(head) + 1]);
  }
  return [...layers].map(([key, numbers]) => {
    const [kind = 'cross', layer = '0'] = key.split('.');
    const text = numbers.length === 1 ? '{kind}, layer {layer}: head {heads}' : '{kind}, layer {layer}: heads {heads}';
    return t(text, { kind: kindName(kind as AttentionKind), layer: Number(layer) + 1, heads: runs(numbers) });
  });
}
