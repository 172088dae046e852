import type { SearchOptions } from './types.js';

/** Adds a random seed to options that sample without a seed. `byDefault`: the model samples by default. */
export function withSeed<T extends SearchOptions>(options: T, byDefault: boolean): T {
  if (!(options?.sample ?? byDefault) || (options?.seed ?? undefined) !== undefined) return options;
  return { ...options, seed: crypto.getRandomValues(new Uint32Array(1))[0]! };
}

/** Adds the seed to the result, so that the caller can repeat it. */
export function addSeed<T extends { seed?: number }>(result: T, options: SearchOptions, byDefault: boolean): T {
  const { sample, seed } = options;
  return (sample ?? byDefault) && seed !== undefined ? { ...result, seed } : result;
}
