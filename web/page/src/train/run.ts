/** A training: its states, its course so far, and the loop that goes on until it is paused. */
import { batch, signal } from '@preact/signals';
import type { TrainCheck, TrainedAttention, TrainerOptions, TrainProgress } from 'wordloom/train';
import { Trainer } from 'wordloom/train';

import { isAbort, messageOf } from '../engine/explain.ts';
import { t } from '../texts/texts.ts';
import * as shelf from './shelf.ts';
import { showOptions, trainerOptions } from './setup.ts';

export type Phase = 'idle' | 'starting' | 'running' | 'paused';

/** A validation with its attention. */
export interface Moment {
  readonly check: TrainCheck;
  readonly attention: TrainedAttention;
}

export const phase = signal<Phase>('idle');
export const trainer = signal<Trainer | null>(null);
/** The course of the loss, a point for each message of progress. */
export const points = signal<readonly TrainProgress[]>([]);
export const moments = signal<readonly Moment[]>([]);
/** The moment on show; null: the newest one. */
export const chosenMoment = signal<number | null>(null);
export const problem = signal<string | null>(null);
/** Seconds of training, without pauses. */
export const seconds = signal(0);
/** Steps of the training in the browser's storage; null: there is none. */
export const kept = signal<shelf.Kept | null>(null);

/** Share of the time that validation may take. */
const CHECK_SHARE = 0.25;
/** The most seconds between two validations. */
const LONGEST_WAIT_S = 5;
/** The most moments; beyond, every second one is dropped. */
const MOST_MOMENTS = 240;
/** The most points of the curve; beyond, neighbours are joined. */
const MOST_POINTS = 1200;
const KEEP_EVERY_S = 30;

let stop: AbortController | null = null;
let lastKept = 0;
let hiddenPause = false;

export async function lookAtShelf(): Promise<void> {
  kept.value = await shelf.look();
}

/** Starts anew with the chosen options. */
export function start(): Promise<void> {
  return begin(trainerOptions(), []);
}

/** Goes on with the training in the browser's storage. */
export async function takeUp(): Promise<void> {
  const stored = await shelf.take();
  if (stored === null) {
    kept.value = null;
    problem.value = t('The stored training is gone: the browser has removed it.');
    return;
  }
  await begin({ resume: stored.files }, stored.points);
}

async function begin(options: TrainerOptions, course: readonly TrainProgress[]): Promise<void> {
  discard();
  batch(() => {
    phase.value = 'starting';
    problem.value = null;
    points.value = course;
    moments.value = [];
    chosenMoment.value = null;
    seconds.value = 0;
  });
  try {
    const made = await Trainer.create(options);
    trainer.value = made;
    showOptions(made.info.options);
    await look(made);
  } catch (error) {
    fail(error);
    return;
  }
  await go();
}

/** Trains until it is paused. */
export async function go(): Promise<void> {
  const now = trainer.peek();
  if (now === null || stop !== null) return;
  const controller = new AbortController();
  const { signal: stopped } = controller;
  stop = controller;
  hiddenPause = false;
  phase.value = 'running';
  let steps = 5;
  try {
    while (!stopped.aborted) {
      const begun = performance.now();
      await now.train({ steps, signal: stopped, onProgress: add });
      const trained = performance.now();
      await look(now, stopped);
      const checked = performance.now();
      seconds.value += (checked - begun) / 1000;
      steps = nextSteps(steps, trained - begun, checked - trained);
      if (checked - lastKept > KEEP_EVERY_S * 1000) await keep(now);
    }
  } catch (error) {
    if (!isAbort(error)) fail(error);
  } finally {
    // after a pause, a newer loop may be running
    if (stop === controller) {
      stop = null;
      phase.value = 'paused';
    }
  }
}

/** The next number of steps: few at first, so that the first second shows something. */
function nextSteps(steps: number, trainingMs: number, checkMs: number): number {
  const each = trainingMs / steps;
  const enough = checkMs * (1 / CHECK_SHARE - 1);
  const wait = Math.min(LONGEST_WAIT_S * 1000, enough);
  return Math.max(1, Math.min(2 * steps, Math.round(wait / Math.max(each, 0.01))));
}

export function pause(): void {
  stop?.abort();
  stop = null;
  const now = trainer.peek();
  if (now === null) return;
  phase.value = 'paused';
  void keep(now);
}

/** Ends the training and removes it from the browser's storage. */
export async function forget(): Promise<void> {
  discard();
  batch(() => {
    phase.value = 'idle';
    points.value = [];
    moments.value = [];
    chosenMoment.value = null;
    problem.value = null;
    kept.value = null;
  });
  await shelf.clear();
}

/** A hidden browser tab does not train. */
export function followVisibility(): void {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden && phase.peek() === 'running') {
      pause();
      hiddenPause = true;
    } else if (!document.hidden && hiddenPause && phase.peek() === 'paused') {
      void go();
    }
  });
}

async function look(now: Trainer, stopped?: AbortSignal): Promise<void> {
  const options = stopped === undefined ? {} : { signal: stopped };
  const [check, attention] = await Promise.all([now.check(options), now.attention(undefined, options)]);
  if (trainer.peek() !== now) return;
  const all = [...moments.peek(), { check, attention }];
  const thinned = all.length > MOST_MOMENTS ? all.filter((_, index) => index % 2 === 0 || index === all.length - 1) : all;
  batch(() => {
    if (thinned !== all) chosenMoment.value = null;
    moments.value = thinned;
  });
}

function add(progress: TrainProgress): void {
  const all = [...points.peek(), progress];
  points.value = all.length > MOST_POINTS ? joined(all) : all;
}

/** Half as many points, with the means of neighbours. */
function joined(all: readonly TrainProgress[]): TrainProgress[] {
  return all.flatMap((one, index) => {
    const next = all[index + 1];
    if (index % 2 === 1) return [];
    if (next === undefined) return [one];
    const mean = (of: 'loss' | 'accuracy'): number => (one[of] + next[of]) / 2;
    return [{ ...next, loss: mean('loss'), accuracy: mean('accuracy') }];
  });
}

async function keep(now: Trainer): Promise<void> {
  lastKept = performance.now();
  try {
    const files = await now.save({ state: true });
    const step = moments.peek().at(-1)?.check.step ?? now.info.step;
    const found = await shelf.put({ files, points: points.peek(), step, task: nameOf(now) });
    if (trainer.peek() === now) kept.value = found;
  } catch {
    // a destroyed trainer, or a browser without room: only the copy for later is missing
  }
}

function nameOf({ info: { options } }: Trainer): string {
  return options.task.pairs === null ? options.task.rule : 'pairs';
}

function discard(): void {
  stop?.abort();
  stop = null;
  trainer.peek()?.destroy();
  trainer.value = null;
}

function fail(error: unknown): void {
  if (isAbort(error)) return;
  const { length } = points.peek();
  discard();
  batch(() => {
    phase.value = 'idle';
    problem.value = messageOf(error) + (length > 0 ? ` ${t('What was learned until the last stored state is kept.')}` : '');
  });
  void lookAtShelf();
}
