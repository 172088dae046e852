/** Checks of arguments: a misspelt name is an error, not a default. */
import { WordloomError } from './errors.js';

/** Throws if `given` is not an object, or has a key that is not in `known`. */
export function onlyKnown(name: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) throw new WordloomError('input', `${name} must be an object with ${known.join(', ')}.`);
  const other = Object.keys(given).find((key) => !known.includes(key));
  if (other !== undefined) throw new WordloomError('input', `${name} has no ${JSON.stringify(other)}; there are ${known.join(', ')}.`);
}

export function wholeNumber(value: unknown, name: string): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32) return value as number;
  throw new WordloomError('input', `${name} must be a whole number from 0 on, and is ${String(value)}.`);
}

export const MAP_CHOICE = ['kind', 'layer', 'head', 'sentence'];
