/** The user's choice of languages: another direction of the running model, or another model. */
import { batch, computed } from '@preact/signals';

import { load, running } from '../engine/load.ts';
import { choiceKey } from '../engine/source.ts';
import { device, sourceLanguage, targetLanguage, text } from '../settings.ts';
import { unsettled, views } from '../translation/live.ts';
import { pair } from '../translation/direction.ts';
import { viewText } from '../translation/views.ts';
import { offers } from './catalogue.ts';
import { bestOffer, PIVOT } from './offers.ts';
import type { Row } from './offers.ts';

/** Translates between the languages of a row, with its model. */
export function pick({ offer, source, target, via }: Omit<Row, 'language'>): Promise<void> {
  const now = running.peek();
  if (now !== null && now.via === null && via === null && choiceKey(now.choice) === offer.key) {
    batch(() => {
      sourceLanguage.value = source;
      targetLanguage.value = target;
    });
    return Promise.resolve();
  }
  if (via === null) return load(offer.choice, device.peek(), { direction: { source, target }, via: null });
  return load(offer.choice, device.peek(), {
    direction: { source: PIVOT, target },
    via: { choice: via.choice, source },
  });
}

/** The model of the reverse direction; null if there is none. The running one comes first. */
export const reverse = computed<Omit<Row, 'language'> | null>(() => {
  const { source, target } = pair.value;
  if (source === null || target === null) return null;
  const now = running.value;
  const own = offers.value.filter(({ key }) => now !== null && key === choiceKey(now.choice));
  const offer = bestOffer(own, target, source) ?? bestOffer(offers.value, target, source);
  return offer === null ? null : { offer, source: target, target: source, via: null };
});

/** Swaps the languages; a finished translation becomes the text. */
export async function swap(): Promise<void> {
  const wanted = reverse.peek();
  if (wanted === null) return;
  const shown = unsettled.peek() ? [] : views.peek();
  const translation = shown.map((view) => viewText(view) + view.passage.end).join('');
  await pick(wanted);
  const now = pair.peek();
  if (now.source === wanted.source && translation.trim() !== '') text.value = translation;
}
