/** Converts a request for an explanation to its message, and the engine's answer to its type. */
import { plainOptions, SAMPLING } from './check-input.js';
import { WordloomError } from './errors.js';
import type { ChosenHypothesis, Explanation, ExplainOptions } from './explain-types.js';
import type { WireExplain } from './protocol.js';
import { wirePair } from './trace.js';
import type { EngineExplanation } from './wordloom_web.js';

export function wireExplain(text: string | ChosenHypothesis, options: ExplainOptions): WireExplain {
  plainOptions(options, 'explain', ['token', 'kind', 'layer', 'head', 'target', ...SAMPLING]);
  const { token, kind = 'encoder', layer = null, head = 0, target = null, signal: _, ...search } = options ?? {};
  if (typeof token !== 'string' && !(Number.isInteger(token) && token >= 0)) {
    throw new WordloomError('input', 'token must be a word of the text, or its number from 0.');
  }
  const choice = { ...search, token: typeof token === 'string' ? token : `#${token}`, kind, layer, head };
  if (typeof text === 'string') return { ...choice, text, target, sentence: null };
  if (target !== null) throw new WordloomError('input', 'target belongs to a text; a translated sentence has its own.');
  if (typeof text !== 'object' || text === null) {
    throw new WordloomError('input', 'The first argument must be a text, or an object with sentence, hypothesis.');
  }
  const { tokens: _tokens, ...pair } = wirePair(text, 'The first argument');
  return { ...choice, text: '', target, sentence: pair };
}

/** The library's names become JavaScript's. */
export function explained({ norm_first, sizes, ...rest }: EngineExplanation): Explanation {
  const { d_model: dModel, d_k: dK, d_v: dV, ffn_width: ffnWidth, heads, layers } = sizes;
  return { ...rest, normFirst: norm_first, sizes: { dModel, heads, dK, dV, ffnWidth, layers } };
}
