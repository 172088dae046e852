/** What the user chose, and what of it survives a reload. */
import { effect, signal } from '@preact/signals';
import type { ColourMap, Scale } from 'wordloom';

export type DeviceChoice = 'auto' | 'gpu' | 'cpu';

export const MAX_BEAMS = 16;
export const MAX_ALTERNATIVES = 8;
/** Longer text is translated all the same, but not kept: the store of a page is small. */
const MAX_STORED_TEXT = 200_000;
const KEY = 'wordloom';

interface Stored {
  text: string;
  /** null: what the model itself asks for. */
  beams: number | null;
  alternatives: number;
  device: DeviceChoice;
  /** null: the model that came with the page. */
  modelUrl: string | null;
  /** As the model that was there writes them; null: never chosen. */
  sourceLanguage: string | null;
  targetLanguage: string | null;
  showAlternatives: boolean;
  showConfidence: boolean;
  showAttention: boolean;
  showSearch: boolean;
  mapColours: ColourMap;
  mapScale: Scale;
}

const stored = read();

export const text = signal(stored.text);
export const beams = signal(stored.beams);
export const alternatives = signal(stored.alternatives);
export const device = signal(stored.device);
export const modelUrl = signal(stored.modelUrl);
export const sourceLanguage = signal(stored.sourceLanguage);
export const targetLanguage = signal(stored.targetLanguage);
export const showAlternatives = signal(stored.showAlternatives);
export const showConfidence = signal(stored.showConfidence);
export const showAttention = signal(stored.showAttention);
export const showSearch = signal(stored.showSearch);
export const mapColours = signal(stored.mapColours);
export const mapScale = signal(stored.mapScale);

/** Writes every change down, once typing pauses, and when the page goes away. */
export function keepSettings(): void {
  let timer = 0;
  let latest = stored;
  const write = (): void => {
    clearTimeout(timer);
    try {
      localStorage.setItem(KEY, JSON.stringify(latest));
    } catch {
      // no storage, or a full one: the settings live as long as the page
    }
  };
  effect(() => {
    latest = {
      text: text.value.length <= MAX_STORED_TEXT ? text.value : '',
      beams: beams.value,
      alternatives: alternatives.value,
      device: device.value,
      modelUrl: modelUrl.value,
      sourceLanguage: sourceLanguage.value,
      targetLanguage: targetLanguage.value,
      showAlternatives: showAlternatives.value,
      showConfidence: showConfidence.value,
      showAttention: showAttention.value,
      showSearch: showSearch.value,
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
    // unreadable: as on the first visit
  }
  const device = value['device'];
  return {
    text: typeof value['text'] === 'string' ? value['text'] : '',
    beams: whole(value['beams'], 1, MAX_BEAMS),
    alternatives: whole(value['alternatives'], 1, MAX_ALTERNATIVES) ?? 3,
    device: device === 'gpu' || device === 'cpu' ? device : 'auto',
    modelUrl: textOrNull(value['modelUrl']),
    sourceLanguage: textOrNull(value['sourceLanguage']),
    targetLanguage: textOrNull(value['targetLanguage']),
    showAlternatives: value['showAlternatives'] === true,
    showConfidence: value['showConfidence'] === true,
    showAttention: value['showAttention'] === true,
    showSearch: value['showSearch'] === true,
    mapColours: oneOf(value['mapColours'], ['viridis', 'cividis', 'magma', 'greys']),
    mapScale: oneOf(value['mapScale'], ['linear', 'logarithmic', 'rows']),
  };
}

/** The first where it is none of them. */
function oneOf<T extends string>(value: unknown, known: readonly [T, ...T[]]): T {
  return known.find((one) => one === value) ?? known[0];
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function whole(value: unknown, least: number, most: number): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
    ? value
    : null;
}
