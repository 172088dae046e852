/** The selected sentence of the panels, selected by caret, click or buttons. */
import { computed, signal } from '@preact/signals';
import type { Hypothesis, Sentence } from 'wordloom';

import { text } from '../settings.ts';
import { views } from './live.ts';
import { cut } from './passages.ts';

export interface Place {
  readonly passage: number;
  readonly sentence: number;
}

export interface Selected extends Place {
  readonly source: Sentence;
  /** Index of the shown hypothesis. */
  readonly rank: number;
  readonly hypothesis: Hypothesis;
  /** Its number among all sentences, from 0, and the number of sentences. */
  readonly number: number;
  readonly count: number;
}

const wanted = signal<Place>({ passage: 0, sentence: 0 });

/** Number of sentences before each passage. */
const offsets = computed(() => {
  let count = 0;
  const before = views.value.map(({ translated }) => {
    const here = count;
    count += translated?.sentences.length ?? 0;
    return here;
  });
  return { before, count };
});

/** null: there is no translation at this place yet. */
export const selected = computed<Selected | null>(() => {
  const { passage, sentence } = nearest(wanted.value);
  const translated = views.value[passage]?.translated;
  const index = Math.min(sentence, (translated?.sentences.length ?? 0) - 1);
  const source = translated?.sentences[index];
  const rank = translated?.chosen[index] ?? 0;
  const hypothesis = source?.hypotheses[rank];
  if (source === undefined || hypothesis === undefined) return null;
  const number = (offsets.value.before[passage] ?? 0) + index;
  return { passage, sentence: index, source, rank, hypothesis, number, count: offsets.value.count };
});

export function select(place: Place): void {
  const now = wanted.peek();
  if (now.passage !== place.passage || now.sentence !== place.sentence) wanted.value = place;
}

/** Selects the next sentence (1) or the previous one (-1). */
export function step(by: 1 | -1): void {
  const now = selected.peek();
  if (now !== null) selectNumber(now.number + by);
}

/** Selects a sentence by its number among all, if it exists. */
export function selectNumber(number: number): void {
  const { before, count } = offsets.peek();
  if (number < 0 || number >= count) return;
  let passage = before.findLastIndex((first) => first <= number);
  while (passage > 0 && views.peek()[passage]?.translated?.sentences.length === 0) passage -= 1;
  select({ passage, sentence: number - (before[passage] ?? 0) });
}

/** Selects the sentence around a position in the source text. */
export function selectAt(position: number): void {
  const now = views.peek();
  let start = cutTagLength();
  for (const [passage, { passage: here, translated }] of now.entries()) {
    const end = start + here.source.length + here.end.length;
    if (position < end || passage === now.length - 1) {
      select({ passage, sentence: sentenceAt(here.source, translated?.sentences ?? [], position - start) });
      return;
    }
    start = end;
  }
}

/** Position of a selected sentence in the whole text; -1 if the text has changed meanwhile. */
export function sourceStart({ passage, sentence }: Place, whole: string): number {
  const { passages } = cut(whole);
  const here = passages[passage];
  const view = views.value[passage];
  if (here === undefined || view?.translated == null || view.passage.source !== here.source) return -1;
  let start = cutTagLength(whole);
  for (const { source, end } of passages.slice(0, passage)) start += source.length + end.length;
  let within = 0;
  for (const [index, { source }] of view.translated.sentences.entries()) {
    within = here.source.indexOf(source, within);
    if (within < 0) return -1;
    if (index === sentence) return start + within;
    within += source.length;
  }
  return -1;
}

function cutTagLength(whole = text.peek()): number {
  const { passages } = cut(whole);
  return whole.length - passages.reduce((sum, { source, end }) => sum + source.length + end.length, 0);
}

function sentenceAt(source: string, sentences: readonly Sentence[], position: number): number {
  let end = 0;
  for (const [index, sentence] of sentences.entries()) {
    end = source.indexOf(sentence.source, end) + sentence.source.length;
    if (position <= end) return index;
  }
  return Math.max(0, sentences.length - 1);
}

/** An existing place: the passage itself, or the closest one with sentences. */
function nearest({ passage, sentence }: Place): Place {
  const has = (index: number): boolean => (views.value[index]?.translated?.sentences.length ?? 0) > 0;
  const start = Math.min(passage, views.value.length - 1);
  for (let index = start; index >= 0; index -= 1) {
    if (views.value[index]?.translated === null) return { passage: index, sentence };
    if (has(index)) return { passage: index, sentence: index === passage ? sentence : Infinity };
  }
  return { passage: views.value.findIndex((_, index) => has(index)), sentence: 0 };
}
