/**
 * The texts of the page. A text's name is its English wording, so English needs no catalogue; `korean.json` has the Korean ones,
 * and the compiler refuses a text that it lacks. The engine's own texts (the steps of an explanation) go through the same catalogue.
 */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import type korean from './korean.json';
import koreanFile from './korean.json?url';
import { language } from './language.ts';
import type { Language } from './language.ts';

export type Text = Exclude<keyof typeof korean, `error ${string}`>;

const KEY = 'wordloom-language';
/** The texts of the current language; `null` means English. */
const catalogue = signal<Readonly<Record<string, string>> | null>(null);

/** Shows the page in the chosen language, or else in the browser's. */
export function startLanguage(): void {
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(KEY);
  } catch {
    // no storage: the browser's language
  }
  const wanted = chosen ?? navigator.languages[0] ?? '';
  if (wanted.toLowerCase().split('-')[0] === 'ko') void show('ko');
}

/** Shows the page in a language and remembers the choice. */
export async function chooseLanguage(to: Language): Promise<void> {
  try {
    localStorage.setItem(KEY, to);
  } catch {
    // no storage: the choice lasts until the page closes
  }
  await show(to);
}

async function show(to: Language): Promise<void> {
  if (to === 'ko') {
    try {
      const response = await fetch(koreanFile);
      catalogue.value = (await response.json()) as Record<string, string>;
    } catch {
      return; // without a network, the page stays readable in English
    }
  } else {
    catalogue.value = null;
  }
  language.value = to;
  document.documentElement.lang = to;
}

/** A text in the current language; `{name}` is replaced by a value. */
export function t(text: Text, values: Readonly<Record<string, string | number>> = {}): string {
  return told(text).replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** As `t`, with elements as values. */
export function tx(text: Text, values: Readonly<Record<string, ComponentChildren>>): ComponentChildren {
  return told(text)
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith('{') && part.endsWith('}') ? (values[part.slice(1, -1)] ?? part) : part));
}

/**
 * An error of the engine in the current language: by its code, with its values; else by its kind, with the message in English. The
 * catalogue has them as `error CODE` and `error of KIND`.
 */
export function problem(error: unknown, kind: string, english: string): string {
  const texts = catalogue.value;
  if (texts === null) return english;
  const { code, values = {} } = (typeof error === 'object' && error !== null ? error : {}) as {
    code?: unknown;
    values?: Readonly<Record<string, string | number>>;
  };
  const known = texts[`error ${String(code)}`];
  if (known !== undefined) return known.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  const general = texts[`error of ${kind}`];
  return general === undefined ? english : `${general} (${english})`;
}

/** A text of the engine, which may be one that this catalogue does not know. */
export function told(text: string): string {
  return catalogue.value?.[text] ?? text;
}
