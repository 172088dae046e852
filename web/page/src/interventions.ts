/** What differs from the model as it was trained: muted heads, and layers with another attention. */
import { computed } from '@preact/signals';

import { muted } from './muting/muted.ts';
import { swappedText } from './swapping/swapped.ts';

/** Their names; empty if nothing differs. A change is a new list. */
export const interventions = computed<readonly string[]>(() =>
  swappedText.value === '' ? muted.value : [...muted.value, swappedText.value],
);
