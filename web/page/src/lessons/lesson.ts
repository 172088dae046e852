/** The parts of a lesson. */
import type { ComponentChildren } from 'preact';
import type { ExplainedToken, Explanation, Hypothesis, Sentence } from 'wordloom';

import type { Running } from '../engine/load.ts';
import { t } from '../texts/texts.ts';
import { direction, languageOptions } from '../translation/direction.ts';

/** The reader's sentence and its translation, with the model that made it. */
export interface Given {
  readonly engine: Running;
  readonly source: Sentence;
  readonly rank: number;
  readonly hypothesis: Hypothesis;
  readonly signal: AbortSignal;
}

export interface Question {
  readonly asks: ComponentChildren;
  readonly choices: readonly string[];
  /** Index of the right choice, by the model's own numbers. */
  readonly right: number;
  /** The reason, shown after the reader has chosen. */
  readonly says: ComponentChildren;
  /** The numbers of the answer. */
  readonly table?: Table;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A lesson's questions for a sentence. */
export type Ask = (given: Given) => Promise<readonly Question[]>;

/** Numbers of the attention that a lesson looks at: the last layer, by default its first head, and a token in the middle. */
export function explain(
  { engine, source, rank, signal }: Given,
  kind: 'encoder' | 'decoder' | 'cross',
  token: number,
  head = 0,
): Promise<Explanation> {
  const choice = { kind, token, head, signal, ...languageOptions(direction.peek()) };
  return engine.translator.explain({ sentence: source, hypothesis: rank }, choice).then(named);
}

/** The row of a word near the middle of the translation; of any token if there is no word. */
export function middle({ hypothesis: { tokens } }: Given): number {
  const half = Math.floor((tokens.length - 2) / 2);
  const rows = tokens.slice(0, -1).map((_, row) => row);
  const words = rows.filter((row) => /\p{L}/u.test(tokens[row + 1]?.piece ?? '') && row + 2 < tokens.length);
  return words.sort((a, b) => Math.abs(a - half) - Math.abs(b - half))[0] ?? half;
}

/** Start and end, which have no text, get names. */
function named(found: Explanation): Explanation {
  const names: Readonly<Record<string, string>> = { '</s>': t('end'), '<pad>': t('start') };
  const name = (token: ExplainedToken): ExplainedToken => ({ ...token, label: names[token.label] ?? token.label });
  return { ...found, query: name(found.query), produces: found.produces && name(found.produces), keys: found.keys.map(name) };
}
