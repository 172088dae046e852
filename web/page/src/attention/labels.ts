/** The labels of a map's rows and columns, and their characters in the texts. */
import type { AttentionKind, TracedSentence, TracedToken } from 'wordloom';

import { t, told } from '../texts/texts.ts';

/** The tokens of a kind's rows: the encoder's input, or the decoder's output. */
export function queriesOf(sentence: TracedSentence, kind: AttentionKind): readonly TracedToken[] {
  return kind === 'encoder' ? sentence.sourceTokens : sentence.targetTokens.slice(1);
}

/** The tokens of a kind's columns: the keys. */
export function keysOf(sentence: TracedSentence, kind: AttentionKind): readonly TracedToken[] {
  return kind === 'decoder' ? sentence.targetTokens.slice(0, -1) : sentence.sourceTokens;
}

/** A token for display; control tokens get a name. */
export function labelOf(token: TracedToken | undefined): string {
  if (token === undefined) return '';
  if (token.special && token.piece === '</s>') return t('end');
  if (token.special && token.piece === '<pad>') return t('start');
  return token.label.trim() === '' || token.label === '▁' ? '␣' : token.label;
}

export function headName(layer: number | 'mean', head: number | 'mean'): string {
  if (layer === 'mean' && head === 'mean') return t('mean of all layers and heads');
  const ofLayer = layer === 'mean' ? t('mean of all layers') : t('layer {number}', { number: layer + 1 });
  const ofHead = head === 'mean' ? t('mean of all heads') : t('head {number}', { number: head + 1 });
  return `${ofLayer}, ${ofHead}`;
}

/** A kind of attention in the language of the page. */
export function kindName(kind: AttentionKind): string {
  return told(KIND_NAMES[kind]);
}

/** Their English names, as pictures have them. */
export const KIND_NAMES: Record<AttentionKind, string> = {
  encoder: 'encoder self-attention',
  decoder: 'decoder self-attention',
  cross: 'cross-attention',
};
