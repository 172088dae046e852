/** Converts a request for a search to its message. */
import { WordloomError } from './errors.js';
import type { WireSearchTree } from './protocol.js';
import type { SearchTreeInput } from './search-types.js';

export function wireSearch(input: SearchTreeInput): WireSearchTree {
  const { sourceTokens, prefix = [], signal: _, ...options } = input ?? {};
  if (!Array.isArray(sourceTokens) || !sourceTokens.every((token) => typeof token?.id === 'number')) {
    throw new WordloomError('input', 'sourceTokens must be the tokens of a translated sentence.');
  }
  if (!Array.isArray(prefix)) throw new WordloomError('input', 'prefix must be a list of token ids.');
  // the model's own configuration may sample, which has no tree
  return { sample: false, ...options, sourceIds: sourceTokens.map(({ id }) => id), prefix: [...prefix] };
}
