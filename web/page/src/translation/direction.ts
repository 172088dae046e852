/** The source and target language, if the model has a choice. */
import { computed } from '@preact/signals';
import type { TranslateOptions } from 'wordloom';

import { chooseDirection, plainTag } from '../engine/languages.ts';
import type { Chosen, Direction } from '../engine/languages.ts';
import { loading, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { PIVOT } from '../models/offers.ts';
import { languages } from '../engine/source.ts';
import { sourceLanguage, targetLanguage } from '../settings.ts';

const NONE: Chosen = { source: null, target: null, guessed: false };

/** The last choice, if the running model has it. */
export const direction = computed<Chosen>(() => {
  const now = running.value;
  if (now === null) return NONE;
  const wanted = { source: sourceLanguage.value, target: targetLanguage.value };
  return chooseDirection(now.info.model.languages, now.info.defaults, wanted, navigator.languages);
});

/** The languages of the text and of its translation, as plain tags; null: unknown. */
export const pair = computed<Direction>(() => {
  const choice = running.value?.choice ?? loading.value?.choice;
  const own = choice === undefined ? NONE : languages(choice);
  const plain = (code: string | null): string | null => (code === null ? null : plainTag(code));
  const { source, target } = direction.value;
  return { source: running.value?.via?.source ?? plain(source ?? own.source), target: plain(target ?? own.target) };
});

/** The options of the first half of a translation through English. */
export function optionsOfFirst({ info, source }: NonNullable<Running['via']>): ReturnType<typeof languageOptions> {
  return languageOptions(chooseDirection(info.model.languages, info.defaults, { source, target: PIVOT }, []));
}

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
