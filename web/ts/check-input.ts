/** Checks of arguments: a misspelt name is an error, not a default. */
import { WordloomError } from './errors.js';
import type { Token } from './types.js';

/** Throws if `given` is not an object, or has a key that is not in `known`. */
export function onlyKnown(name: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new WordloomError('input', `${name} must be an object with ${known.join(', ')}.`);
  }
  const other = Object.keys(given).find((key) => !known.includes(key));
  if (other === undefined) return;
  const are = known.length === 1 ? 'there is only' : 'there are';
  throw new WordloomError('input', `${name} has no ${JSON.stringify(other)}; ${are} ${known.join(', ')}.`);
}

/** Options of a search. */
export const SEARCH = [
  ...['beams', 'nBest', 'lengthPenalty', 'maxLength', 'minLength', 'earlyStopping', 'noRepeatNgramSize', 'repetitionPenalty'],
  ...['sourceLanguage', 'targetLanguage', 'signal'],
];
/** And of sampling. */
export const SAMPLING = [...SEARCH, 'sample', 'temperature', 'topK', 'topP', 'seed'];
export const OF_TRANSLATE = [
  ...SAMPLING,
  ...['task', 'document', 'attention', 'keepAttention', 'alignments', 'glossary', 'glossaryMode'],
];

/** Throws unless the options of a call are an object; `undefined` and `null` are no options. */
export function anyOptions(options: unknown): void {
  if (options === undefined || options === null) return;
  if (typeof options === 'object' && !Array.isArray(options) && !isSignal(options)) return;
  const are = Array.isArray(options) ? 'a list' : isSignal(options) ? 'an AbortSignal: give { signal }' : `a ${typeof options}`;
  throw new WordloomError('input', `The options must be an object, and are ${are}.`);
}

/** And unless they are values that can be sent to the engine, of known names. Without `known`, the engine checks the names. */
export function plainOptions(options: unknown, call = '', known?: readonly string[]): void {
  anyOptions(options);
  if (known && options) onlyKnown(call, options, known);
  // neither JSON, which the engine gets, nor a message to a worker has such values
  const wrong = Object.entries(options ?? {}).find(([, value]) => typeof value === 'bigint' || typeof value === 'function');
  if (wrong) throw new WordloomError('input', `${wrong[0]} is a ${typeof wrong[1]}, which no option is.`);
}

/** As `onlyKnown`, for options that can be left out. */
export function onlyOptions(options: unknown, known: readonly string[] = ['signal']): void {
  if (options === undefined || options === null) return;
  // a signal has no keys of its own
  if (isSignal(options)) throw new WordloomError('input', 'The last argument is an AbortSignal: give { signal }.');
  onlyKnown('The last argument', options, known);
}

/** Throws unless `value` is one of `allowed`. */
export function oneOf<T extends string>(name: string, value: unknown, allowed: readonly T[]): T {
  if (allowed.includes(value as T)) return value as T;
  throw new WordloomError('input', `${name} is ${shown(value)}; it can be ${allowed.join(', ')}.`);
}

export function wholeNumber(value: unknown, name: string): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32) return value as number;
  throw new WordloomError('input', `${name} must be a whole number from 0 on, and is ${typeof value === 'string' ? shown(value) : String(value)}.`);
}

export function trueOrFalse(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new WordloomError('input', `${name} is ${shown(value)}; it can be true or false.`);
}

/** Throws unless `value` is missing or a function. */
export function checkFunction(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== 'function') throw new WordloomError('input', `${name} is no function.`);
}

/** The type, for callers without TypeScript: the wasm module does not check it. */
export function string(value: unknown, name = 'text'): string {
  if (typeof value === 'string') return value;
  throw new WordloomError('input', `${name} must be a string, and is ${value === null ? 'null' : typeof value}.`);
}

/** Throws unless `signal` is missing or can be listened to. */
export function checkSignal(signal: unknown): asserts signal is AbortSignal | undefined {
  if (signal !== undefined && !isSignal(signal)) throw new WordloomError('input', 'signal is no AbortSignal.');
}

export function isSignal(signal: unknown): signal is AbortSignal {
  const { addEventListener, removeEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  return typeof addEventListener === 'function' && typeof removeEventListener === 'function';
}

export function areTokens(tokens: unknown): tokens is readonly Token[] {
  return Array.isArray(tokens) && tokens.every((token) => typeof token?.id === 'number');
}

/** A value for a message. */
export function shown(value: unknown): string {
  return JSON.stringify(String(value));
}

export const MAP_CHOICE = ['kind', 'layer', 'head', 'sentence'];
export const KINDS = ['encoder', 'decoder', 'cross'] as const;
export const COLOUR_MAPS = ['viridis', 'magma', 'cividis', 'greys'] as const;
