/** The place on show: translation, or training. */
import { signal } from '@preact/signals';

export type Place = 'translate' | 'train';

export const place = signal<Place>('translate');
