/** The user's choice of languages: another direction of the running model, or another model. */
import { batch, computed } from '@preact/signals';

import { load, running } from '../engine/load.ts';
import { choiceKey } from '../engine/source.ts';
import { device, sourceLanguage, targetLanguage, text } from '../settings.ts';
import { views } from '../translation/live.ts';
import { pair } from '../translation/direction.ts';
import { viewText } from '../translation/views.ts';
import { offers } from './catalogue.ts';
import { bestOffer } from './offers.ts';
import type { Offer, Row } from './offers.ts';

/** Translates between the languages of a row, with its model. */
export function pick({ offer, source, target }: Omit<Row, 'language'>): Promise<void> {
  const now = running.peek();
  if (now !== null && choiceKey(now.choice) === offer.key) {
    batch(() => {
      sourceLanguage.value = source;
      targetLanguage.value = target;
    });
    return Promise.resolve();
  }
  return load(offer.choice, device.peek(), { source, target });
}

/** The model of the reverse direction; null if there is none. The running one comes first. */
export const reverse = computed<{ offer: Offer; source: string; target: string } | null>(() => {
  const { source, target } = pair.value;
  if (source === null || target === null) return null;
  const now = running.value;
  const own = offers.value.filter(({ key }) => now !== null && key === choiceKey(now.choice));
  const offer = bestOffer(own, target, source) ?? bestOffer(offers.value, target, source);
  return offer === null ? null : { offer, source: target, target: source };
});

/** Swaps the languages; the translation becomes the text. */
export async function swap(): Promise<void> {
  const wanted = reverse.peek();
  if (wanted === null) return;
  const translation = views
    .peek()
    .map((view) => viewText(view) + view.passage.end)
    .join('');
  await pick(wanted);
  const now = pair.peek();
  if (now.source === wanted.source && translation.trim() !== '') text.value = translation;
}
