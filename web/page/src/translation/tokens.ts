/** Where the tokens of a hypothesis stand in its text. */
import type { Hypothesis, Token } from 'wordloom';

export interface TokenSpan {
  /** The characters it wrote, with the space in front of a word. */
  readonly text: string;
  /** 0 to 1; null: characters that no token accounts for. */
  readonly probability: number | null;
}

const SPACE = /▁/gu;

/** Cuts a hypothesis's text into what each token wrote. */
export function tokenSpans({ text, tokens }: Hypothesis): TokenSpan[] {
  const spans: TokenSpan[] = [];
  let position = 0;
  for (const token of tokens) {
    const piece = token.piece.replace(SPACE, ' ');
    // the first word has no space in front of it in the text
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

/** A token for the eye: the mark of a word's start becomes nothing, control tokens get a name. */
export function tokenLabel(token: Token): string {
  const label = token.piece.replace(SPACE, ' ').trim();
  if (label === '</s>') return 'end';
  return label === '' ? '␣' : label;
}
