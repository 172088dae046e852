/** The tokens of a hypothesis in its text. */
import type { Hypothesis, Token } from 'wordloom';

export interface TokenSpan {
  /** The token's characters, including the space before a word. */
  readonly text: string;
  /** 0 to 1; null: characters without a token. */
  readonly probability: number | null;
}

const SPACE = /▁/gu;

/** Cuts a hypothesis's text into the characters of each token. */
export function tokenSpans({ text, tokens }: Hypothesis): TokenSpan[] {
  const spans: TokenSpan[] = [];
  let position = 0;
  for (const token of tokens) {
    const piece = token.piece.replace(SPACE, ' ');
    // the text has no space before its first word
    const written = position === 0 ? piece.trimStart() : piece;
    if (written === '' || token.logProbability === undefined) continue;
    const at = text.indexOf(written, position);
    if (at < 0 || at - position > 8) continue;
    if (at > position) spans.push({ text: text.slice(position, at), probability: null });
    spans.push({ text: written, probability: Math.exp(token.logProbability) });
    position = at + written.length;
  }
  if (position < text.length) spans.push({ text: text.slice(position), probability: null });
  return spans;
}

/** A token for display, without the mark of a word's start; control tokens get a name. */
export function tokenLabel(token: Token): string {
  const label = token.piece.replace(SPACE, ' ').trim();
  if (label === '</s>') return 'end';
  return label === '' ? '␣' : label;
}
