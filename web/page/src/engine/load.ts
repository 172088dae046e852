/** The running model, and the one that is being loaded. A failed load keeps the running model. */
import { batch, signal } from '@preact/signals';
import { Translator } from 'wordloom';
import type { CreateOptions, EngineInfo } from 'wordloom';

import { dismissAll, notify } from '../notices.ts';
import * as settings from '../settings.ts';
import type { DeviceChoice } from '../settings.ts';
import { explainIdsOnly, explainLoad, isAbort } from './explain.ts';
import { STARTING, progressOf } from './progress.ts';
import type { Progress } from './progress.ts';
import { hubName } from 'wordloom';

import type { Direction } from './languages.ts';
import { choiceKey, toSource } from './source.ts';
import type { ModelChoice } from './source.ts';

interface Ready {
  readonly translator: Translator;
  readonly info: EngineInfo;
  readonly choice: ModelChoice;
  readonly device: DeviceChoice;
}

/** The first half of a translation through English. */
export interface Via {
  readonly choice: ModelChoice;
  /** The language of the text, as a plain tag. */
  readonly source: string;
}

export interface Running extends Ready {
  /** The model that translates the text into English, if this one translates the rest. */
  readonly via: (Ready & Pick<Via, 'source'>) | null;
}

export interface Loading {
  readonly choice: ModelChoice;
  readonly device: DeviceChoice;
}

/** Where a load goes. */
export interface Way {
  /** The languages of the model; null: as before. */
  readonly direction: Direction | null;
  readonly via: Via | null;
}

const STRAIGHT: Way = { direction: null, via: null };

export const running = signal<Running | null>(null);
/** Models that stay ready beside the running one, the last used first. */
export const residents = signal<readonly Ready[]>([]);
export const loading = signal<Loading | null>(null);
/** The progress of a load; null during the first half second. */
export const progress = signal<Progress | null>(null);

const PATIENCE = 500;
/** The most models that are ready at a time. */
const MOST_READY = 2;
let controller: AbortController | null = null;

/**
 * Loads a model for a device, and switches to it when it is ready. A newer call stops an older one. A model that is ready is not
 * loaded again.
 */
export async function load(choice: ModelChoice, device: DeviceChoice, way: Way = STRAIGHT): Promise<void> {
  controller?.abort();
  const own = new AbortController();
  controller = own;
  batch(() => {
    dismissAll('load');
    progress.value = null;
    loading.value = { choice, device };
  });
  const created: Ready[] = [];
  let failing = choice;
  try {
    let via: Running['via'] = null;
    if (way.via !== null) {
      failing = way.via.choice;
      const first = await obtain(failing, device, own, created);
      via = { ...first, source: way.via.source };
      failing = choice;
    }
    const next = await obtain(choice, device, own, created);
    if (controller !== own) throw new DOMException('A newer load has begun.', 'AbortError');
    // the engine also runs models that take token ids only
    const mute = [next, via].find((one) => one !== null && one.info.model.idsOnly !== null);
    if (mute) {
      discard(created);
      notify(explainIdsOnly(mute.info.model, mute.choice, device, load));
      return;
    }
    // a new object, because the page keeps what it knows of an engine by it
    switchTo({ ...next, via }, way.direction);
  } catch (error) {
    discard(created);
    if (controller === own && !isAbort(error)) notify(explainLoad(error, failing, device, load));
  } finally {
    if (controller === own) {
      batch(() => {
        loading.value = null;
        progress.value = null;
      });
    }
  }
}

/** A model that is ready, or a new one, which is added to `created`. */
async function obtain(
  choice: ModelChoice,
  device: DeviceChoice,
  own: AbortController,
  created: Ready[],
): Promise<Ready> {
  const found = reusable().find((one) => choiceKey(one.choice) === choiceKey(choice) && one.device === device);
  try {
    // as every model that is switched to
    if (found !== undefined && found.translator.muted.length > 0) await found.translator.mute([]);
    if (found !== undefined && found.translator.swappedAttention !== '') await found.translator.swapAttention('');
    if (found !== undefined && found.translator.switches !== '') await found.translator.setSwitches('');
    if (found !== undefined) return found;
  } catch {
    forget(choiceKey(choice));
  }
  let latest = STARTING;
  let patient = true;
  let arriving = false;
  const timer = setTimeout(() => {
    patient = false;
    if (controller === own) progress.value = latest;
  }, PATIENCE);
  try {
    const translator = await Translator.create({
      ...toSource(choice),
      ...passedOver(),
      device,
      signal: own.signal,
      onProgress: (event) => {
        if (controller !== own) return;
        if (event.stage === 'warning') notify({ about: 'load', tone: 'info', title: event.message });
        // weights are uploaded during the download, which is the progress to show
        if (event.stage === 'download') arriving = event.loaded < event.total;
        else if (arriving && event.stage !== 'compile') return;
        latest = progressOf(event) ?? latest;
        if (!patient) progress.value = latest;
      },
    });
    const ready = { translator, info: translator.info, choice, device };
    created.push(ready);
    return ready;
  } finally {
    clearTimeout(timer);
  }
}

/** What an earlier check of the GPU found. */
function passedOver(): Pick<CreateOptions, 'passOver'> {
  const found = settings.passOver.peek();
  return found === null ? {} : { passOver: found };
}

/** The models that need no load. The running one is not among them, because a load of it renews it, unless it is one of two. */
function reusable(): readonly Ready[] {
  const now = running.peek();
  return now?.via == null ? residents.peek() : [...residents.peek(), ...halves(now)];
}

/** The two models of a translation through English, or the one. */
function halves({ via, ...last }: Running): Ready[] {
  if (via === null) return [last];
  const { source: _, ...first } = via;
  return [last, first];
}

function discard(models: readonly Ready[]): void {
  for (const { translator } of models) translator.destroy();
}

function switchTo(next: Running, direction: Direction | null): void {
  const { choice, device, via } = next;
  const previous = running.peek();
  const ready = [...(previous === null ? [] : halves(previous)), ...residents.peek()];
  const used = halves(next);
  const others = ready.filter((one) => used.every((now) => choiceKey(one.choice) !== choiceKey(now.choice)));
  const kept = others.filter((_, index) => {
    const all = [...used, ...others.slice(0, index + 1)];
    const bytes = all.reduce((sum, { info }) => sum + info.model.weightBytes, 0);
    return all.length <= MOST_READY && bytes <= memoryBudget();
  });
  batch(() => {
    running.value = next;
    residents.value = kept;
    settings.device.value = device;
    if (direction !== null) {
      settings.sourceLanguage.value = direction.source;
      settings.targetLanguage.value = direction.target;
    }
    if ([choice, via?.choice].some((one) => one?.kind === 'folder')) return;
    settings.model.value = storedChoice(choice);
    const first = via === null ? null : storedChoice(via.choice);
    settings.via.value = via === null ? null : { url: first?.url ?? '', pair: first?.pair ?? null, source: via.source };
  });
  const alive = new Set([...used, ...kept].map(({ translator }) => translator));
  discard(ready.filter(({ translator }) => !alive.has(translator)));
}

/** A choice for the next visit; null for the built-in model. */
function storedChoice(choice: ModelChoice): settings.StoredModel | null {
  if (choice.kind === 'bundled' || choice.kind === 'folder') return null;
  return { url: choiceKey(choice), pair: choice.pair ?? null };
}

/** Bytes of weights that the page keeps ready: an eighth of the machine's memory, as far as the browser says. */
function memoryBudget(): number {
  const { deviceMemory = 4 } = navigator as Navigator & { deviceMemory?: number };
  return (deviceMemory / 8) * 2 ** 30;
}

/** Frees a model that is ready beside the running one. */
export function forget(key: string): void {
  const gone = residents.peek().filter(({ choice }) => choiceKey(choice) === key);
  residents.value = residents.peek().filter((one) => !gone.includes(one));
  for (const { translator } of gone) translator.destroy();
}

/** Stops the current load; the running model stays. */
export function cancelLoad(): void {
  controller?.abort();
  controller = null;
  batch(() => {
    loading.value = null;
    progress.value = null;
  });
}

/** Loads the running model again, after its worker or device was lost, or for another device. */
export function reload(device = running.peek()?.device ?? settings.device.peek()): Promise<void> {
  const now = running.peek();
  if (now === null) return loadStarting(device);
  const { choice, via } = now;
  // both halves are new
  if (via !== null) {
    discard(halves(now));
    running.value = null;
  }
  return load(choice, device, { direction: null, via });
}

/** Loads the model of the last visit. */
export function loadStarting(device: DeviceChoice): Promise<void> {
  const via = settings.via.peek();
  const first = via === null ? null : { choice: choiceOf(via), source: via.source };
  return load(startingChoice(), device, { direction: null, via: first });
}

/** The model of the last visit. */
export function startingChoice(): ModelChoice {
  return choiceOf(settings.model.peek());
}

function choiceOf(stored: settings.StoredModel | null): ModelChoice {
  if (stored === null || stored.url === '') return { kind: 'bundled' };
  const { url, pair } = stored;
  const known = pair === null ? {} : { pair };
  return hubName(url) ? { kind: 'hub', name: url, ...known } : { kind: 'url', url, ...known };
}
