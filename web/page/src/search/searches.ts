/** The search for the selected sentence, computed while its panel is open, and the forced branch. */
import { batch, computed, effect, signal } from '@preact/signals';
import type { SearchNode, SearchTree } from 'wordloom';

import { explainWork, isAbort, kindOf } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import { dismissAll, notify } from '../notices.ts';
import { showSearch } from '../settings.ts';
import { direction, languageOptions } from '../translation/direction.ts';
import { searchBeams } from '../translation/live.ts';
import { selected } from '../translation/selection.ts';

export interface Token {
  readonly id: number;
  readonly piece: string;
}

export interface Searched {
  readonly source: string;
  readonly tree: SearchTree;
  /** The forced beginning of the translation. */
  readonly prefix: readonly Token[];
}

/** The newest search; it stays while the next one runs. */
export const searched = signal<Searched | null>(null);
export const searching = signal(false);
/** The length penalty of the ranking; null for the search's own. */
export const penalty = signal<number | null>(null);
export const PENALTIES = { least: -1, most: 3, step: 0.1 } as const;

/** The forced beginning, for one sentence only. */
const forced = signal<{ source: string; prefix: readonly number[] } | null>(null);
/** Ids of the forced beginning of the selected sentence's translation. */
export const prefixNow = computed<readonly number[]>(() => {
  const now = forced.value;
  return now !== null && now.source === selected.value?.source.source ? now.prefix : NO_PREFIX;
});
const NO_PREFIX: readonly number[] = [];
const again = signal(0);

export function followSearch(): void {
  effect(() => {
    void again.value;
    const engine = running.value;
    if (!showSearch.value || engine === null) return undefined;
    const source = selected.value?.source;
    const prefix = prefixNow.value;
    if (source === undefined) {
      searching.value = true;
      return undefined;
    }
    const controller = new AbortController();
    searching.value = true;
    engine.translator
      .searchTree({
        sourceTokens: source.sourceTokens,
        beams: searchBeams.value,
        prefix,
        signal: controller.signal,
        ...languageOptions(direction.value),
      })
      .then(
        (tree) => {
          if (controller.signal.aborted) return;
          batch(() => {
            // the tokens after the start token
            const given = tree.hypotheses[0]?.tokens.slice(1, 1 + prefix.length) ?? [];
            searched.value = { source: source.source, tree, prefix: given };
            searching.value = false;
            dismissAll('search');
          });
        },
        (error: unknown) => {
          if (controller.signal.aborted || isAbort(error)) return;
          // a link may have tokens that this model does not have
          const foreign = prefix.length > 0 && kindOf(error) === 'input';
          const retry = foreign
            ? { label: 'Back to the free search', run: release }
            : { label: 'Try again', run: () => void (again.value += 1) };
          notify(explainWork(error, 'search', retry, { label: 'Load the model again', run: () => void reload() }));
        },
      );
    return () => controller.abort();
  });
}

/** The tokens from the root to a node. */
export function pathTo(tree: SearchTree, index: number): number[] {
  const path: number[] = [];
  for (let at: number | null = index; at !== null; at = tree.nodes[at]?.parent ?? null) path.push(at);
  return path.reverse();
}

/** Forces the search to continue from a node. */
export function force({ source, tree, prefix }: Searched, index: number): void {
  const path = pathTo(tree, index).flatMap((at) => tree.nodes[at] ?? []);
  if (path.length === 0 || path.some(({ ends }) => ends)) return;
  forceTokens(source, [...prefix, ...path].map(({ id }) => id));
}

/** Forces the translation of a sentence to begin with these tokens. */
export function forceTokens(source: string, prefix: readonly number[]): void {
  forced.value = { source, prefix };
}

/** Removes the forced beginning. */
export function release(): void {
  forced.value = null;
}

/** The score of a finished hypothesis; larger is better. */
export function scoreOf({ sum, step }: SearchNode, power: number): number {
  return sum / step ** power;
}

export interface Ranked {
  readonly index: number;
  readonly node: SearchNode;
  readonly score: number;
}

/** Finished hypotheses, best first; equal ones in the order of the search. */
export function ranking({ nodes }: SearchTree, power: number): Ranked[] {
  const finished = nodes.flatMap((node, index) =>
    node.fate === 'finished' ? [{ index, node, score: scoreOf(node, power) }] : [],
  );
  return finished.sort((a, b) => b.score - a.score);
}

/** A number with a minus sign as wide as a digit. */
export function signed(value: number, digits = 2): string {
  return value.toFixed(digits).replace('-', '−');
}

/** The text of some tokens, joined from their pieces. */
export function wordsOf(tokens: readonly { readonly piece: string }[]): string {
  return tokens
    .map(({ piece }) => piece)
    .join('')
    .replace(/▁/gu, ' ')
    .trim();
}

export function percent(share: number): string {
  const value = 100 * share;
  return value >= 10 ? `${Math.round(value)} %` : value >= 0.1 ? `${value.toFixed(1)} %` : '< 0.1 %';
}
