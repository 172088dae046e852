/** The language of the page. */
import { signal } from '@preact/signals';

export type Language = 'en' | 'ko';
export const LANGUAGES: readonly { readonly value: Language; readonly label: string }[] = [
  { value: 'en', label: 'English' },
  { value: 'ko', label: '한국어' },
];

export const language = signal<Language>('en');
