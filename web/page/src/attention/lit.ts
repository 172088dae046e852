/** The highlighted characters of the two texts, for the row or cell under the pointer. */
import { computed } from '@preact/signals';
import type { TracedToken } from 'wordloom';

import { cell, step } from './choice.ts';
import { keysOf, queriesOf } from './labels.ts';
import { map } from './traces.ts';

/** `own`: the query token; `key`: the key under the pointer; 1 to 3: other keys, by weight. */
export type Level = 'own' | 'key' | 1 | 2 | 3;

export interface Span {
  readonly start: number;
  readonly end: number;
  readonly level: Level;
}

export interface Lit {
  readonly source: readonly Span[];
  readonly target: readonly Span[];
}

const NOTHING: Lit = { source: [], target: [] };

/** Ranges count characters of the traced sentence, not of the whole text. */
export const lit = computed<Lit>(() => {
  const now = map.value;
  const played = step.value;
  const at = cell.value ?? (played === null || played === 0 ? null : { row: played - 1, column: null });
  if (now === null || at === null || at.row >= now.shape[0]) return NOTHING;
  const [, columns] = now.shape;
  const weights = now.weights.subarray(at.row * columns, (at.row + 1) * columns);
  const largest = weights.reduce((most, weight) => Math.max(most, weight), 0) || 1;
  const keys: Span[] = [];
  keysOf(now.shown.sentence, now.kind).forEach((token, column) => {
    const share = (weights[column] ?? 0) / largest;
    const level = column === at.column ? 'key' : share >= 0.6 ? 3 : share >= 0.25 ? 2 : share >= 0.08 ? 1 : null;
    if (level !== null) add(keys, token, level);
  });
  const own: Span[] = [];
  const query = queriesOf(now.shown.sentence, now.kind)[at.row];
  if (query !== undefined) add(own, query, 'own');
  switch (now.kind) {
    case 'cross':
      return { source: keys, target: own };
    case 'encoder':
      return { source: [...keys, ...own], target: [] };
    case 'decoder':
      return { source: [], target: [...keys, ...own] };
  }
});

function add(spans: Span[], { range }: TracedToken, level: Level): void {
  if (range !== null && range[1] > range[0]) spans.push({ start: range[0], end: range[1], level });
}

/** A text cut where the highlight changes. Of several spans over a character, the strongest counts. */
export function segments(text: string, spans: readonly Span[]): { text: string; level: Level | null }[] {
  const strength = (level: Level | null): number =>
    level === null ? 0 : level === 'own' ? 5 : level === 'key' ? 4 : level;
  const cuts = [...new Set([0, text.length, ...spans.flatMap(({ start, end }) => [start, end])])]
    .filter((at) => at <= text.length)
    .sort((a, b) => a - b);
  return cuts.slice(0, -1).map((start, index) => {
    const end = cuts[index + 1] ?? text.length;
    let level: Level | null = null;
    for (const span of spans) {
      if (span.start <= start && span.end >= end && strength(span.level) > strength(level)) level = span.level;
    }
    return { text: text.slice(start, end), level };
  });
}
