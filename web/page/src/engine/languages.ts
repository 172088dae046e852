/** Names of languages, and their codes in models, which write German as `deu_Latn`, `de_DE` or `de`. */
import type { EngineInfo, Languages } from 'wordloom';

import { language } from '../texts/language.ts';
import type { Language } from '../texts/language.ts';

export interface Direction {
  /** null: the model has no choice on this side. */
  readonly source: string | null;
  readonly target: string | null;
}

export interface Chosen extends Direction {
  /** Whether the target language was guessed. */
  readonly guessed: boolean;
}

/** A model's code as a BCP 47 tag such as `de`; null for other codes. mBART's `XX` stands for no region. */
export function languageTag(code: string): string | null {
  try {
    return Intl.getCanonicalLocales(code.replace(/_XX$/, '').replaceAll('_', '-'))[0] ?? null;
  } catch {
    return null;
  }
}

/** The language of a code, with its script if that is not the usual one: `de` for `deu_Latn`, `zh-Hant` for `zho_Hant`. */
export function plainTag(code: string): string {
  const tag = languageTag(code);
  if (tag === null) return code;
  const { language, script } = new Intl.Locale(tag);
  if (script === undefined) return language;
  return new Intl.Locale(language).maximize().script === script ? language : `${language}-${script}`;
}

/** The language's name in itself: `de` -> Deutsch; null if the browser does not know it. */
export function ownName(tag: string): string | null {
  try {
    const names = new Intl.DisplayNames([tag], { type: 'language', fallback: 'none' });
    // without the language's data, the browser answers in another one
    const own = new Intl.Locale(names.resolvedOptions().locale).language === new Intl.Locale(tag).language;
    return own ? (names.of(tag) ?? null) : null;
  } catch {
    return null;
  }
}

/** `deu_Latn` -> German, `zh-Hant` -> Chinese (Traditional); null if the code is not a language. */
export function languageName(code: string | null): string | null {
  return code === null || languageTag(code) === null ? null : nameOf(plainTag(code));
}

/** Whether a model has a choice of languages. */
export function hasChoice({ source, target }: Languages): boolean {
  return source.length > 1 || target.length > 1;
}

/** The languages into which a text of `source` can be translated. */
export function targetsOf({ target, pairs }: Languages, source: string | null): string[] {
  if (pairs === null) return target;
  return target.filter((code) => pairs.some(([from, into]) => from === source && into === code));
}

/** The wanted direction, if the model has it; or else the model's default; or else into a `preferred` language of the user. */
export function chooseDirection(
  languages: Languages,
  defaults: EngineInfo['defaults'],
  wanted: Direction,
  preferred: readonly string[],
): Chosen {
  if (!hasChoice(languages)) return { source: null, target: null, guessed: false };
  const source =
    find(languages.source, wanted.source) ??
    find(languages.source, defaults.sourceLanguage) ??
    languages.source[0] ??
    null;
  const targets = targetsOf(languages, source);
  const known = find(targets, wanted.target) ?? find(targets, defaults.targetLanguage);
  if (known !== null) return { source, target: known, guessed: false };
  const others = targets.filter((code) => source === null || languageOf(code) !== languageOf(source));
  const readable = preferred.map((tag) => find(others, tag)).find((code) => code !== null);
  return { source, target: readable ?? others[0] ?? targets[0] ?? null, guessed: targets.length > 1 };
}

/** The code itself, or else the first of the same language, so that a choice survives a change of models. */
function find(codes: readonly string[], wanted: string | null): string | null {
  if (wanted === null) return null;
  if (codes.includes(wanted)) return wanted;
  const plain = plainTag(wanted);
  const exact = codes.find((code) => plainTag(code) === plain);
  if (exact !== undefined) return exact;
  return codes.find((code) => languageOf(code) === languageOf(wanted)) ?? null;
}

/** The language of a code: `de` for `deu_Latn`. */
function languageOf(code: string): string {
  const tag = languageTag(code);
  return tag === null ? code : new Intl.Locale(tag).language;
}

const namesIn = (language: Language): Intl.DisplayNames =>
  new Intl.DisplayNames(language, { type: 'language', fallback: 'none', languageDisplay: 'standard' });
/** Names in the languages of the page. */
const NAMES: Record<Language, Intl.DisplayNames> = { en: namesIn('en'), ko: namesIn('ko') };

function nameOf(tag: string): string | null {
  try {
    return NAMES[language.value].of(tag) ?? null;
  } catch {
    return null;
  }
}
