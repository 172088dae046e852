/** What differs from the model as it was trained: muted heads, layers with another attention, and switched parts. */
import { computed } from '@preact/signals';

import { muted } from './muting/muted.ts';
import { swappedText } from './swapping/swapped.ts';
import { switched } from './switching/switched.ts';

/** Their names; empty if nothing differs. A change is a new list. */
export const interventions = computed<readonly string[]>(() =>
  swappedText.value === '' && switched.value.length === 0
    ? muted.value
    : [...muted.value, swappedText.value, ...switched.value].filter((name) => name !== ''),
);
