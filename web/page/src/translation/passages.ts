/**
 * Cuts a text into passages (a line, or a part of a very long one) that are translated separately, so that typing in one of a
 * thousand lines costs one line.
 */
import type { Sentence } from 'wordloom';

export interface Passage {
  readonly source: string;
  /** Text after the passage: a line break, the space between two parts of a long line, or nothing. */
  readonly end: string;
}

/** The sentences of a passage and the white space around them: between[0] sentence between[1] sentence … */
export interface Translated {
  readonly between: readonly string[];
  readonly sentences: readonly Sentence[];
  /** Index of the shown hypothesis of each sentence. */
  readonly chosen: readonly number[];
  /** Tokens at the end of a document that the model does not take. */
  readonly leftOut?: number;
}

const LONG_LINE = 3000;
const SENTENCE_END = /[.!?…]["'”’»)\]]*\s+|[。！？]/gu;

/** The whole text as one passage, for models that summarize. */
export function whole(text: string): { tag: string; passages: Passage[] } {
  return { tag: '', passages: [{ source: text, end: '' }] };
}

/** Cuts a text at line breaks, and long lines between sentences. A leading `>>fra<<` tag applies to the whole text. */
export function cut(text: string): { tag: string; passages: Passage[] } {
  const tag = /^\s*>>[^<>\s]+<<[^\S\n]*/.exec(text)?.[0] ?? '';
  const lines = text.slice(tag.length).split('\n');
  const passages: Passage[] = [];
  lines.forEach((line, index) => {
    const end = index < lines.length - 1 ? '\n' : '';
    if (line.length <= LONG_LINE) passages.push({ source: line, end });
    else passages.push(...cutLine(line, end));
  });
  return { tag: tag.trim(), passages };
}

function cutLine(line: string, end: string): Passage[] {
  const passages: Passage[] = [];
  let start = 0;
  for (const match of line.matchAll(SENTENCE_END)) {
    const next = match.index + match[0].length;
    if (next - start < LONG_LINE / 2 || line.length - next < LONG_LINE / 4) continue;
    const source = line.slice(start, next).trimEnd();
    passages.push({ source, end: line.slice(start + source.length, next) });
    start = next;
  }
  passages.push({ source: line.slice(start), end });
  return passages;
}

export function isBlank(passage: Passage): boolean {
  return passage.source.trim() === '';
}

/** Distributes the sentences of passages that were translated together. */
export function deal(sources: readonly string[], sentences: readonly Sentence[]): Translated[] {
  let next = 0;
  return sources.map((source, index) => {
    const between: string[] = [];
    const own: Sentence[] = [];
    const last = index === sources.length - 1;
    let end = 0;
    for (let sentence = sentences[next]; sentence !== undefined; sentence = sentences[next]) {
      const start = source.indexOf(sentence.source, end);
      if (start < 0 && !last) break;
      // scripts without spaces have none between sentences, but the translation may need one
      const gap = start < 0 ? '' : source.slice(end, start);
      between.push(gap === '' && own.length > 0 ? ' ' : gap);
      own.push(sentence);
      end = start < 0 ? end : start + sentence.source.length;
      next += 1;
    }
    between.push(source.slice(end));
    return { between, sentences: own, chosen: own.map(() => 0) };
  });
}

/** The translation of a passage, with the chosen hypotheses. */
export function translatedText({ between, sentences, chosen }: Translated): string {
  let text = between[0] ?? '';
  sentences.forEach((sentence, index) => {
    text += (sentence.hypotheses[chosen[index] ?? 0]?.text ?? '') + (between[index + 1] ?? '');
  });
  return text;
}

/** Groups of passages for one call: small enough to be stopped soon, large enough to share a batch. */
export function group<T extends { readonly source: string }>(
  passages: readonly T[],
  first: number,
  rest: number,
): T[][] {
  const groups: T[][] = [];
  let size = Infinity;
  for (const passage of passages) {
    const limit = groups.length <= 1 ? first : rest;
    if (size + passage.source.length > limit) {
      groups.push([]);
      size = 0;
    }
    groups[groups.length - 1]?.push(passage);
    size += passage.source.length + 1;
  }
  return groups;
}
