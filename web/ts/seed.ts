import type { SearchOptions } from './types.js';

/** The options with a random seed, where they ask for sampling and name none. `byDefault`: the model asks for it. */
export function withSeed<T extends SearchOptions>(options: T, byDefault: boolean): T {
  if (!(options?.sample ?? byDefault) || options?.seed !== undefined) return options;
  return { ...options, seed: crypto.getRandomValues(new Uint32Array(1))[0]! };
}

/** The result, with the seed that gives it again. */
export function tellSeed<T extends { seed?: number }>(result: T, options: SearchOptions, byDefault: boolean): T {
  const { sample, seed } = options;
  return (sample ?? byDefault) && seed !== undefined ? { ...result, seed } : result;
}
