/** The moment on show: a chosen one, or the newest. */
import { computed } from '@preact/signals';

import { chosenMoment, moments } from './run.ts';

export const shownIndex = computed(() => {
  const last = moments.value.length - 1;
  return Math.min(chosenMoment.value ?? last, last);
});

export const shownMoment = computed(() => moments.value[shownIndex.value]);
