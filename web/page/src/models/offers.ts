/** The models that translate a pair of languages, and the rows of a picker. Languages are plain tags: `de`, `zh-Hant`. */
import type { ModelChoice } from '../engine/source.ts';

export type Side = 'from' | 'to';

export interface Offer {
  /** Identifies the model. */
  readonly key: string;
  readonly choice: ModelChoice;
  readonly name: string;
  readonly pairs: readonly (readonly [source: string, target: string])[];
  /** The languages of a model that translates each into each. */
  readonly languages: readonly string[];
  /** null: unknown. */
  readonly bytes: number | null;
  readonly licence: string | null;
  /** Whether it needs no download. */
  readonly here: boolean;
  /** Its id in the browser's storage, if it can be removed. */
  readonly stored: string | null;
}

export interface Pair {
  /** null: unknown. */
  readonly source: string | null;
  readonly target: string | null;
}

/** A language of a side, and the model and pair that it stands for. */
export interface Row {
  readonly language: string;
  readonly offer: Offer;
  readonly source: string;
  readonly target: string;
  /** The model of the first half, into English, if no model here translates the pair. */
  readonly via: Offer | null;
}

/** The language between two models. */
export const PIVOT = 'en';

export function translates({ pairs, languages }: Offer, source: string, target: string): boolean {
  if (source === target) return false;
  if (languages.includes(source) && languages.includes(target)) return true;
  return pairs.some(([from, to]) => from === source && to === target);
}

/** A model on this device before one to download, a model of the pair before one of many languages, a small before a large one. */
export function bestOffer(offers: readonly Offer[], source: string, target: string): Offer | null {
  return offers.filter((offer) => translates(offer, source, target)).sort(better)[0] ?? null;
}

function better(one: Offer, other: Offer): number {
  const order = ({ here, languages, bytes }: Offer): number[] => [here ? 0 : 1, languages.length, bytes ?? 1e12];
  const [a, b] = [order(one), order(other)];
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** The rows of a side. Each model of a language has one, because models differ in size and quality. */
export function rowsOf(offers: readonly Offer[], side: Side, now: Pair): Row[] {
  return side === 'from' ? sourceRows(offers, now) : targetRows(offers, now);
}

function sourceRows(offers: readonly Offer[], now: Pair): Row[] {
  return sourcesOf(offers).flatMap((source) => {
    const direct = now.target === null ? [] : pairRows(offers, source, now.target, source);
    if (direct.length > 0) return direct;
    // no model translates it into the present target, so the target changes
    const targets = targetsFrom(offers, source);
    const wanted = [now.source, 'en', ...targets].filter((target) => target !== null && targets.includes(target));
    const found = wanted.flatMap((target) => pairRows(offers, source, target as string, source));
    return found.sort((a, b) => better(a.offer, b.offer)).slice(0, 1);
  });
}

function targetRows(offers: readonly Offer[], { source }: Pair): Row[] {
  const sources = source === null ? sourcesOf(offers) : [source];
  return sources.flatMap((from) => {
    return targetsFrom(offers, from).flatMap((target) => pairRows(offers, from, target, target));
  });
}

function pairRows(offers: readonly Offer[], source: string, target: string, language: string): Row[] {
  const all = offers.filter((offer) => translates(offer, source, target));
  const rows = all.map((offer) => ({ language, offer, source, target, via: null }));
  if (all.some(({ here }) => here)) return rows;
  const ready = offers.filter(({ here }) => here);
  const [first, last] = [bestOffer(ready, source, PIVOT), bestOffer(ready, PIVOT, target)];
  if (first === null || last === null || first === last) return rows;
  return [{ language, offer: last, source, target, via: first }, ...rows];
}

function sourcesOf(offers: readonly Offer[]): string[] {
  return [...new Set(offers.flatMap(({ pairs, languages }) => [...pairs.map(([from]) => from), ...languages]))];
}

/** The languages that `source` is translated into, directly or through English. */
function targetsFrom(offers: readonly Offer[], source: string): string[] {
  const direct = directTargets(offers, source);
  const ready = offers.filter(({ here }) => here);
  if (source === PIVOT || !directTargets(ready, source).includes(PIVOT)) return direct;
  return [...new Set([...direct, ...directTargets(ready, PIVOT).filter((target) => target !== source)])];
}

function directTargets(offers: readonly Offer[], source: string): string[] {
  const all = offers.flatMap(({ pairs, languages }) => [
    ...pairs.filter(([from]) => from === source).map(([, to]) => to),
    ...(languages.includes(source) ? languages.filter((to) => to !== source) : []),
  ]);
  return [...new Set(all)];
}
