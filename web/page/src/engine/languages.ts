/** Names of languages, and their codes in models, which write German as `deu_Latn`, `de_DE` or `de`. */
import type { EngineInfo, Languages } from 'wordloom';

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

/** `de` -> German; null if the code is not a language. */
export function languageName(code: string | null): string | null {
  const tag = code === null ? null : languageTag(code);
  return tag === null ? null : nameOf(tag);
}

/** Codes with their names, sorted by name. A name includes script or region only to distinguish two languages. */
export function languageNames(codes: readonly string[]): { code: string; name: string }[] {
  const short = codes.map((code) => nameOf(languageOf(code)) ?? code);
  const named = codes.map((code, index) => {
    const name = short[index] ?? code;
    const alone = short.filter((other) => other === name).length === 1;
    return { code, name: alone ? name : (languageName(code) ?? code) };
  });
  // two codes of one language and script
  const names = named.map(({ name }) => name);
  for (const entry of named) {
    if (names.filter((name) => name === entry.name).length > 1) entry.name += ` (${entry.code})`;
  }
  return named.sort((one, other) => one.name.localeCompare(other.name, 'en'));
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
  return codes.find((code) => languageOf(code) === languageOf(wanted)) ?? null;
}

/** The language of a code: `de` for `deu_Latn`. */
function languageOf(code: string): string {
  const tag = languageTag(code);
  return tag === null ? code : new Intl.Locale(tag).language;
}

const NAMES = new Intl.DisplayNames('en', {
  type: 'language',
  fallback: 'none',
  languageDisplay: 'standard',
});

function nameOf(tag: string): string | null {
  try {
    return NAMES.of(tag) ?? null;
  } catch {
    return null;
  }
}
