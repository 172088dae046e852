/** The running model, and the one that is being loaded. A failed load keeps the running model. */
import { batch, signal } from '@preact/signals';
import { Translator } from 'wordloom';
import type { EngineInfo } from 'wordloom';

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

export interface Running {
  readonly translator: Translator;
  readonly info: EngineInfo;
  readonly choice: ModelChoice;
  readonly device: DeviceChoice;
}

export interface Loading {
  readonly choice: ModelChoice;
  readonly device: DeviceChoice;
}

export const running = signal<Running | null>(null);
/** Models that stay ready beside the running one, the last used first. */
export const residents = signal<readonly Running[]>([]);
export const loading = signal<Loading | null>(null);
/** The progress of a load; null during the first half second. */
export const progress = signal<Progress | null>(null);

const PATIENCE = 500;
/** The most models that are ready at a time. */
const MOST_READY = 2;
let controller: AbortController | null = null;

/**
 * Loads a model for a device, and switches to it and to a direction when it is ready. A newer call stops an older one. A model
 * that is ready is not loaded again.
 */
export async function load(
  choice: ModelChoice,
  device: DeviceChoice,
  direction: Direction | null = null,
): Promise<void> {
  if (await resume(choice, device, direction)) return;
  controller?.abort();
  const own = new AbortController();
  controller = own;
  let latest = STARTING;
  let patient = true;
  let arriving = false;
  batch(() => {
    dismissAll('load');
    loading.value = { choice, device };
    progress.value = null;
  });
  const timer = setTimeout(() => {
    patient = false;
    progress.value = latest;
  }, PATIENCE);
  try {
    const translator = await Translator.create({
      ...toSource(choice),
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
    if (controller !== own) {
      translator.destroy();
      return;
    }
    // the engine also runs models that take token ids only
    if (translator.info.model.idsOnly !== null) {
      translator.destroy();
      notify(explainIdsOnly(translator.info.model, choice, device, load));
      return;
    }
    switchTo({ translator, info: translator.info, choice, device }, direction);
  } catch (error) {
    if (controller === own && !isAbort(error)) notify(explainLoad(error, choice, device, load));
  } finally {
    clearTimeout(timer);
    if (controller === own) {
      batch(() => {
        loading.value = null;
        progress.value = null;
      });
    }
  }
}

/** Switches to a model that is ready. Returns whether there is one. */
async function resume(choice: ModelChoice, device: DeviceChoice, direction: Direction | null): Promise<boolean> {
  const key = choiceKey(choice);
  const found = residents.peek().find((ready) => choiceKey(ready.choice) === key && ready.device === device);
  if (found === undefined) return false;
  cancelLoad();
  try {
    // as every model that is switched to
    if (found.translator.muted.length > 0) await found.translator.mute([]);
  } catch {
    forget(key);
    return false;
  }
  if (!residents.peek().includes(found)) return false;
  residents.value = residents.peek().filter((ready) => ready !== found);
  dismissAll('load');
  // a new object, because the page keeps what it knows of an engine by it
  switchTo({ ...found }, direction);
  return true;
}

function switchTo(next: Running, direction: Direction | null): void {
  const { choice, device } = next;
  const previous = running.peek();
  const ready = [previous, ...residents.peek()].filter((one) => one !== null);
  const others = ready.filter((one) => choiceKey(one.choice) !== choiceKey(choice));
  const kept = others.filter((_, index) => {
    const before = [next, ...others.slice(0, index + 1)];
    const bytes = before.reduce((sum, { info }) => sum + info.model.weightBytes, 0);
    return before.length <= MOST_READY && bytes <= memoryBudget();
  });
  batch(() => {
    running.value = next;
    residents.value = kept;
    settings.device.value = device;
    if (direction !== null) {
      settings.sourceLanguage.value = direction.source;
      settings.targetLanguage.value = direction.target;
    }
    if (choice.kind === 'folder') return;
    settings.modelUrl.value = choice.kind === 'bundled' ? null : choiceKey(choice);
    settings.modelPair.value = choice.kind === 'bundled' ? null : (choice.pair ?? null);
  });
  for (const one of ready) if (!kept.includes(one)) one.translator.destroy();
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

/** Loads the running model again, after its worker or device was lost. */
export function reload(): Promise<void> {
  const now = running.peek();
  return load(now?.choice ?? startingChoice(), now?.device ?? settings.device.peek());
}

/** The model of the last visit. */
export function startingChoice(): ModelChoice {
  const address = settings.modelUrl.peek();
  if (address === null) return { kind: 'bundled' };
  const stated = settings.modelPair.peek();
  const known = stated === null ? {} : { pair: stated };
  return hubName(address) ? { kind: 'hub', name: address, ...known } : { kind: 'url', url: address, ...known };
}
