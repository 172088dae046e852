/** The parts of the model that are off or changed: their choice and their names. */
import { batch, computed, signal } from '@preact/signals';

import { kindName } from '../attention/labels.ts';
import { explainWork, isAbort } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { dismissAll, notify } from '../notices.ts';
import { t, told } from '../texts/texts.ts';

/** Parts, their value in the engine's words, their names on a button and in a sentence. */
export const PARTS = [
  { part: 'residual', value: 'off', label: 'No residuals', told: 'without residual connections' },
  { part: 'norm', value: 'off', label: 'No norms', told: 'without norms' },
  { part: 'positions', value: 'off', label: 'No positions', told: 'without positions' },
  { part: 'self', value: 'off', label: 'No self-attention', told: 'without self-attention' },
  { part: 'cross', value: 'off', label: 'No cross-attention', told: 'without cross-attention' },
  { part: 'feed-forward', value: 'off', label: 'No feed-forward', told: 'without feed-forward networks' },
  { part: 'scale', value: 'off', label: 'No 1/√dₖ', told: 'scores not divided by √dₖ' },
  { part: 'query', value: 'key', label: 'W_Q := W_K', told: 'W_Q := W_K' },
] as const;
export type Part = (typeof PARTS)[number];

/** A place of the model: everywhere, a stack, or one of its layers. */
export interface Where {
  readonly stack: 'encoder' | 'decoder' | null;
  readonly layer: number | null;
}

interface Choice {
  /** The engine of the switches; a newly loaded model has none. */
  readonly engine: Running | null;
  /** As the engine takes them: `encoder.2.residual=off`. */
  readonly switches: readonly string[];
}

const NONE: readonly string[] = [];
const chosen = signal<Choice>({ engine: null, switches: NONE });

export const switched = computed<readonly string[]>(() =>
  chosen.value.engine === running.value ? chosen.value.switches : NONE,
);

/** The parts that can be switched at a place. */
export function partsAt({ stack, layer }: Where): readonly Part[] {
  return PARTS.filter(({ part }) => (part !== 'positions' || layer === null) && (part !== 'cross' || stack !== 'encoder'));
}

export function textOf({ stack, layer }: Where, { part, value }: Part): string {
  return [stack, layer, `${part}=${value}`].filter((word) => word !== null).join('.');
}

/** Switches a part off, or on again. */
export function turn(text: string): void {
  const now = switched.peek();
  set(now.includes(text) ? now.filter((other) => other !== text) : [...now, text]);
}

export function switchNone(): void {
  set(NONE);
}

/** Sets exactly these switches, in the engine's words. Words that the page itself does not make are ignored. */
export function switchOnly(texts: string): void {
  const next = [...new Set(texts.split(','))].filter((text) => described(text) !== null);
  if (next.join() !== switched.peek().join()) set(next);
}

/** The engine runs calls in order, so later calls use these switches, and the change counts at once. */
function set(switches: readonly string[]): void {
  const engine = running.peek();
  if (engine === null) return;
  const before = switched.peek();
  engine.translator.setSwitches(switches.join()).then(
    () => dismissAll('switch'),
    (error: unknown) => {
      if (isAbort(error)) return;
      const retry = { label: 'Try again', run: () => set(switches) };
      batch(() => {
        if (chosen.peek().switches === switches) chosen.value = { engine, switches: before };
        notify(explainWork(error, 'switch', retry, { label: 'Load the model again', run: () => void reload() }));
      });
    },
  );
  chosen.value = { engine, switches };
}

/** A head's switch: `encoder.2.self.head.4=uniform`. */
export function uniformHead(kind: 'encoder' | 'decoder' | 'cross', layer: number, head: number): string {
  const [stack, block] = kind === 'cross' ? ['decoder', 'cross'] : [kind, 'self'];
  return `${stack}.${layer}.${block}.head.${head}=uniform`;
}

/** `encoder layer 2: without norms`; null for words that the page does not make. */
function described(text: string): string | null {
  const head = /^(encoder|decoder)\.(\d{1,4})\.(self|cross)\.head\.(\d{1,4})=uniform$/.exec(text);
  if (head !== null) {
    const [, stack, layer, block, number] = head;
    const kind = kindName(block === 'cross' ? 'cross' : stack === 'encoder' ? 'encoder' : 'decoder');
    const place = t('{kind}, layer {layer}: head {heads}', { kind, layer: Number(layer) + 1, heads: Number(number) + 1 });
    return `${place}: ${told('equal weights')}`;
  }
  const words = /^(?:(encoder|decoder)\.)?(?:(\d{1,4})\.)?([a-z-]+)=([a-z]+)$/.exec(text);
  if (words === null) return null;
  const [, stack, layer, part, value] = words;
  const found = PARTS.find((one) => one.part === part && one.value === value);
  if (found === undefined || (layer !== undefined && stack === undefined)) return null;
  const off = told(found.told);
  if (stack === undefined) return off;
  if (layer === undefined) return `${told(stack)}: ${off}`;
  const place = stack === 'encoder' ? 'encoder layer {number}' : 'decoder layer {number}';
  return `${t(place, { number: Number(layer) + 1 })}: ${off}`;
}

export function describeSwitches(switches: readonly string[]): string[] {
  return switches.map((text) => described(text) ?? text);
}
