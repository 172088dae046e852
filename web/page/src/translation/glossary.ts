/** The user's glossary: one term a line, `ticket = Fahrschein`. */
import { computed } from '@preact/signals';
import type { TranslateOptions } from 'wordloom';

import { running } from '../engine/load.ts';
import { glossary } from '../settings.ts';

/** Whether the translation goes through English, where the terms of the text are not found. */
export const hasNoGlossary = computed(() => (running.value?.via ?? null) !== null);

/** The option of a translation; nothing without terms. */
export const glossaryOption = computed<Pick<TranslateOptions, 'glossary'>>(() =>
  glossary.value.trim() === '' || hasNoGlossary.value ? {} : { glossary: glossary.value },
);
