/** Converts a request for a search to its message. */
import { areTokens, plainOptions, SEARCH } from './check-input.js';
import { WordloomError } from './errors.js';
import type { WireSearchTree } from './protocol.js';
import type { SearchTreeInput } from './search-types.js';
import type { SearchOptions } from './types.js';

export function wireSearch(input: SearchTreeInput): WireSearchTree {
  const { sourceTokens, prefix = [], signal: _, ...options } = input ?? {};
  if ((input as SearchOptions | null)?.sample !== true) plainOptions(input, 'searchTree', ['sourceTokens', 'prefix', ...SEARCH]);
  if (!areTokens(sourceTokens)) {
    throw new WordloomError('input', 'sourceTokens must be the tokens of a translated sentence.');
  }
  if ((options as SearchOptions).sample === true) throw new WordloomError('input', 'sample is true, but samples have no tree; leave it out.');
  if (!Array.isArray(prefix)) throw new WordloomError('input', 'prefix must be a list of token ids.');
  // the model's own configuration may sample, which has no tree
  return { sample: false, ...options, sourceIds: sourceTokens.map(({ id }) => id), prefix: [...prefix] };
}
