/** The source and target language, if the model has a choice. */
import { computed } from '@preact/signals';
import type { TranslateOptions } from 'wordloom';

import { chooseDirection } from '../engine/languages.ts';
import type { Chosen, Direction } from '../engine/languages.ts';
import { running } from '../engine/load.ts';
import { sourceLanguage, targetLanguage } from '../settings.ts';

const NONE: Chosen = { source: null, target: null, guessed: false };

/** The last choice, if the running model has it. */
export const direction = computed<Chosen>(() => {
  const now = running.value;
  if (now === null) return NONE;
  const wanted = { source: sourceLanguage.value, target: targetLanguage.value };
  return chooseDirection(now.info.model.languages, now.info.defaults, wanted, navigator.languages);
});

/** The options of a direction. */
export function languageOptions({
  source,
  target,
}: Direction): Pick<TranslateOptions, 'sourceLanguage' | 'targetLanguage'> {
  return {
    ...(source === null ? {} : { sourceLanguage: source }),
    ...(target === null ? {} : { targetLanguage: target }),
  };
}
