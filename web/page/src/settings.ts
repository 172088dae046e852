/** The user's settings, and those that survive a reload. */
import { effect, signal } from '@preact/signals';
import type { ColourMap, PassOver, Scale } from 'wordloom';

export type DeviceChoice = 'auto' | 'gpu' | 'cpu';

export const MAX_BEAMS = 16;
export const MAX_ALTERNATIVES = 8;
/** Limit of stored text, because a page's storage is small. Longer text is translated, but not stored. */
const MAX_STORED_TEXT = 200_000;
const KEY = 'wordloom';

export interface StoredModel {
  /** Its URL, or its name on the hub; empty: the bundled model. */
  url: string;
  /** Its languages, if it has one pair that its name does not tell. */
  pair: readonly [string, string] | null;
}

interface Stored {
  text: string;
  /** Terms whose translation is prescribed, one a line. */
  glossary: string;
  /** null: the model's default. */
  beams: number | null;
  alternatives: number;
  device: DeviceChoice;
  /** Kernels that the check of the GPU found wrong or slow; null: it was not checked. */
  passOver: PassOver | null;
  /** null: the bundled model. */
  model: StoredModel | null;
  /** The model before it, of a translation through English, and the language of the text. */
  via: (StoredModel & { source: string }) | null;
  /** The model's language codes; null: not chosen. */
  sourceLanguage: string | null;
  targetLanguage: string | null;
  showAlternatives: boolean;
  showConfidence: boolean;
  showAttention: boolean;
  showSearch: boolean;
  showLessons: boolean;
  mapColours: ColourMap;
  mapScale: Scale;
}

const stored = read();

export const text = signal(stored.text);
export const glossary = signal(stored.glossary);
export const beams = signal(stored.beams);
export const alternatives = signal(stored.alternatives);
export const device = signal(stored.device);
export const passOver = signal(stored.passOver);
export const model = signal(stored.model);
export const via = signal(stored.via);
export const sourceLanguage = signal(stored.sourceLanguage);
export const targetLanguage = signal(stored.targetLanguage);
export const showAlternatives = signal(stored.showAlternatives);
export const showConfidence = signal(stored.showConfidence);
export const showAttention = signal(stored.showAttention);
export const showSearch = signal(stored.showSearch);
export const showLessons = signal(stored.showLessons);
export const mapColours = signal(stored.mapColours);
export const mapScale = signal(stored.mapScale);

/** Stores every change, when typing pauses and when the page closes. */
export function keepSettings(): void {
  let timer = 0;
  let latest = stored;
  const write = (): void => {
    clearTimeout(timer);
    try {
      localStorage.setItem(KEY, JSON.stringify(latest));
    } catch {
      // no storage, or full storage: settings are lost with the page
    }
  };
  effect(() => {
    latest = {
      text: text.value.length <= MAX_STORED_TEXT ? text.value : '',
      glossary: glossary.value.length <= MAX_STORED_TEXT ? glossary.value : '',
      beams: beams.value,
      alternatives: alternatives.value,
      device: device.value,
      passOver: passOver.value,
      model: model.value,
      via: via.value,
      sourceLanguage: sourceLanguage.value,
      targetLanguage: targetLanguage.value,
      showAlternatives: showAlternatives.value,
      showConfidence: showConfidence.value,
      showAttention: showAttention.value,
      showSearch: showSearch.value,
      showLessons: showLessons.value,
      mapColours: mapColours.value,
      mapScale: mapScale.value,
    };
    clearTimeout(timer);
    timer = window.setTimeout(write, 400);
  });
  window.addEventListener('pagehide', write);
}

function read(): Stored {
  let value: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    if (typeof parsed === 'object' && parsed !== null) value = parsed as Record<string, unknown>;
  } catch {
    // unreadable: use defaults
  }
  const device = value['device'];
  return {
    text: typeof value['text'] === 'string' ? value['text'] : '',
    glossary: typeof value['glossary'] === 'string' ? value['glossary'] : '',
    beams: whole(value['beams'], 1, MAX_BEAMS),
    alternatives: whole(value['alternatives'], 1, MAX_ALTERNATIVES) ?? 3,
    device: device === 'gpu' || device === 'cpu' ? device : 'auto',
    passOver: passOverOrNull(value['passOver']),
    // `modelUrl` is of earlier versions
    model: modelOrNull(value['model']) ?? modelOrNull({ url: value['modelUrl'] }),
    via: viaOrNull(value['via']),
    sourceLanguage: textOrNull(value['sourceLanguage']),
    targetLanguage: textOrNull(value['targetLanguage']),
    showAlternatives: value['showAlternatives'] === true,
    showConfidence: value['showConfidence'] === true,
    showAttention: value['showAttention'] === true,
    showSearch: value['showSearch'] === true,
    showLessons: value['showLessons'] === true,
    mapColours: oneOf(value['mapColours'], ['viridis', 'cividis', 'magma', 'greys']),
    mapScale: oneOf(value['mapScale'], ['linear', 'logarithmic', 'rows']),
  };
}

/** `value` if it is known, or else the first known value. */
function oneOf<T extends string>(value: unknown, known: readonly [T, ...T[]]): T {
  return known.find((one) => one === value) ?? known[0];
}

function modelOrNull(value: unknown): StoredModel | null {
  const { url, pair } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return typeof url === 'string' ? { url, pair: pairOrNull(pair) } : null;
}

function passOverOrNull(value: unknown): PassOver | null {
  const { adapter, version, wrong, slow } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const names = (list: unknown): list is string[] => Array.isArray(list) && list.every((name) => typeof name === 'string');
  if (typeof adapter !== 'string' || typeof version !== 'string' || !names(wrong) || !names(slow)) return null;
  return { adapter, version, wrong, slow };
}

function viaOrNull(value: unknown): (StoredModel & { source: string }) | null {
  const found = modelOrNull(value);
  const source: unknown = (value as { source?: unknown } | null)?.source;
  return found !== null && typeof source === 'string' ? { ...found, source } : null;
}

function pairOrNull(value: unknown): [string, string] | null {
  const [source, target] = Array.isArray(value) ? (value as unknown[]) : [];
  return typeof source === 'string' && typeof target === 'string' ? [source, target] : null;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function whole(value: unknown, least: number, most: number): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
    ? value
    : null;
}
