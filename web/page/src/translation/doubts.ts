/** Sentences whose translation a person should look at. */
import { computed } from '@preact/signals';
import type { Sentence } from 'wordloom';

import { running } from '../engine/load.ts';
import type { Text } from '../texts/texts.ts';
import { views } from './live.ts';

/** Whether the estimate was calibrated for the model, which holds for the built-in one. Alarms hold for every model. */
export const calibrated = computed(() => running.value?.choice.kind === 'bundled' && running.value.via === null);

/** Why the shown translation of a sentence is doubtful; null if it is not. */
export function doubtOf({ quality }: Sentence, chosen: number, isCalibrated: boolean): Text | null {
  if (quality === undefined || chosen !== 0) return null;
  if (quality.cut) return 'It reached the greatest length: something may be missing.';
  if (quality.repeats) return 'It repeats itself.';
  if (quality.copies) return 'Most of its words stand in the text as they are.';
  return isCalibrated && quality.low ? 'The model was not sure here.' : null;
}

/** Number of doubtful sentences on the page. */
export const doubts = computed(() => {
  let count = 0;
  for (const { translated } of views.value) {
    translated?.sentences.forEach((sentence, index) => {
      if (doubtOf(sentence, translated.chosen[index] ?? 0, calibrated.value) !== null) count += 1;
    });
  }
  return count;
});
