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
import { toSource } from './source.ts';
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
export const loading = signal<Loading | null>(null);
/** The progress of a load; null during the first half second. */
export const progress = signal<Progress | null>(null);

const PATIENCE = 500;
let controller: AbortController | null = null;

/** Loads a model for a device, and switches to it when it is ready. A newer call stops an older one. */
export async function load(choice: ModelChoice, device: DeviceChoice): Promise<void> {
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
      model: toSource(choice),
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
    const previous = running.peek();
    batch(() => {
      running.value = { translator, info: translator.info, choice, device };
      settings.device.value = device;
      if (choice.kind !== 'folder') settings.modelUrl.value = choice.kind === 'url' ? choice.url : null;
    });
    previous?.translator.destroy();
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
  const url = settings.modelUrl.peek();
  return url === null ? { kind: 'bundled' } : { kind: 'url', url };
}
