/** Converts a request for an explanation to its message, and the engine's answer to its type. */
import { WordloomError } from './errors.js';
import type { ChosenHypothesis, Explanation, ExplainOptions } from './explain-types.js';
import type { WireExplain } from './protocol.js';
import { wireTrace } from './trace.js';
import type { EngineExplanation } from './wordloom_web.js';

export function wireExplain(text: string | ChosenHypothesis, options: ExplainOptions): WireExplain {
  const { token, kind = 'encoder', layer = null, head = 0, target = null, signal: _, ...search } = options ?? {};
  if (typeof token !== 'string' && !(Number.isInteger(token) && token >= 0)) {
    throw new WordloomError('input', 'token must be a word of the text, or its number from 0.');
  }
  const choice = { ...search, token: typeof token === 'string' ? token : `#${token}`, kind, layer, head };
  if (typeof text === 'string') return { ...choice, text, target, sentence: null };
  if (target !== null) throw new WordloomError('input', 'target belongs to a text; a translated sentence has its own.');
  const [sentence] = wireTrace({ sentences: [text] }).sentences;
  const { tokens: _tokens, ...pair } = sentence!;
  return { ...choice, text: '', target, sentence: pair };
}

/** The library's names become JavaScript's. */
export function explained({ norm_first, sizes, ...rest }: EngineExplanation): Explanation {
  const { d_model: dModel, d_k: dK, d_v: dV, ffn_width: ffnWidth, heads, layers } = sizes;
  return { ...rest, normFirst: norm_first, sizes: { dModel, heads, dK, dV, ffnWidth, layers } };
}
