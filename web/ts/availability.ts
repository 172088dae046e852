/** Whether the bundled model translates a pair of languages, and whether the browser has it. */
import { BUNDLED_LANGUAGES, bundledModel } from './bundled-model.js';
import { onlyKnown } from './check-input.js';
import { WordloomError } from './errors.js';
import { addressOf } from './loading/address.js';
import { keyOf, lockName, storeFor } from './loading/store.js';
import { hasSimd } from './simd.js';

/** As in the browser's Translator API: `available` is stored here, `downloadable` not yet. */
export type Availability = 'available' | 'downloadable' | 'downloading' | 'unavailable';

/** Source and target language. */
export interface LanguagePair {
  /** BCP 47: `en`, `en-GB`. Default: the model's source language. */
  sourceLanguage?: string;
  /** Default: the model's target language. */
  targetLanguage?: string;
}

export function translates(pair: LanguagePair): boolean {
  onlyKnown('The pair', pair, ['sourceLanguage', 'targetLanguage']);
  const { sourceLanguage, targetLanguage } = pair;
  const matches = (tag: string | undefined, language: string) =>
    tag === undefined || languageOf(tag) === language;
  return matches(sourceLanguage, BUNDLED_LANGUAGES.source) && matches(targetLanguage, BUNDLED_LANGUAGES.target);
}

function languageOf(tag: string): string {
  try {
    return new Intl.Locale(tag).language;
  } catch (error) {
    throw new WordloomError('input', `${JSON.stringify(tag)} is not a language tag, such as en or en-GB.`, { cause: error });
  }
}

export async function bundledAvailability(pair: LanguagePair): Promise<Availability> {
  if (!hasSimd() || !translates(pair)) return 'unavailable';
  const key = keyOf(addressOf(bundledModel()).identity);
  const store = await storeFor(key, false);
  if (store && (await store.catalogue()).complete) return 'available';
  const locks = await globalThis.navigator?.locks?.query().catch(() => undefined);
  return locks?.held?.some(({ name }) => name === lockName(key)) ? 'downloading' : 'downloadable';
}
