/** Translates while the user types: waits for a pause, stops stale work, keeps what it has translated. */
import { batch, computed, effect, signal } from '@preact/signals';
import type { TranslateOptions } from 'wordloom';

import { explainWork, isAbort } from '../engine/explain.ts';
import type { Direction } from '../engine/languages.ts';
import { reload, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { muted } from '../muting/muted.ts';
import { dismissAll, notify } from '../notices.ts';
import { alternatives, beams, showAttention, text } from '../settings.ts';
import { direction, spoken } from './direction.ts';
import { cut } from './passages.ts';
import type { Translated } from './passages.ts';
import type { Outcome } from './run.ts';
import { keyOf, runTranslation } from './run.ts';
import type { View } from './views.ts';
import { doneView } from './views.ts';

export interface Activity {
  readonly done: number;
  readonly total: number;
}

export const views = signal<readonly View[]>([]);
/** null: nothing is being translated. */
export const activity = signal<Activity | null>(null);
/** From a change until its translation is whole. */
export const unsettled = signal(false);
/** Of the last translation that needed the model. */
export const outcome = signal<Outcome | null>(null);
export const searchBeams = computed(() => beams.value ?? running.value?.info.defaults.beams ?? 4);

const PAUSE = 150;
/** Somebody who types without a pause sees something all the same. */
const LONGEST_WAIT = 600;
const LONGEST_FRAME = 200;
const MOST_KNOWN = 5000;

let known = new Map<string, Translated>();
let knownFor = '';
/** What was known when all heads counted: for comparison while some are muted, and for when they count again. */
const plain = signal<{ options: string; known: Map<string, Translated> } | null>(null);
let knownBy: Running | null = null;
let controller: AbortController | null = null;
let timer = 0;
/** Whether a change waits for its translation to begin: an older one that ends meanwhile settles nothing. */
let waiting = false;
let waitingSince = 0;

/** Follows the text, the model and the options from now on. */
export function startTranslating(): void {
  interface Wanted {
    text: string;
    engine: Running | null;
    into: Direction | null;
    muted: readonly string[];
  }
  let last: Wanted = { text: '', engine: null, into: null, muted: [] };
  effect(() => {
    const now = { text: text.value, engine: running.value, into: direction.value, muted: muted.value };
    void searchBeams.value;
    void alternatives.value;
    // a pause is for typing; a new model or language, a first text and an emptied one are answered at once
    const same = now.engine === last.engine && now.into === last.into && now.muted === last.muted;
    const typing = same && last.text !== '' && now.text !== '';
    last = now;
    schedule(typing ? PAUSE : 0);
  });
}

export function translateAgain(): void {
  schedule(0);
}

function schedule(pause: number): void {
  clearTimeout(timer);
  unsettled.value = true;
  waiting = true;
  if (pause === 0) {
    waitingSince = 0;
    start();
    return;
  }
  const now = performance.now();
  if (waitingSince === 0) waitingSince = now;
  const wait = Math.max(0, Math.min(pause, waitingSince + LONGEST_WAIT - now));
  timer = window.setTimeout(() => {
    waitingSince = 0;
    start();
  }, wait);
}

function start(): void {
  waiting = false;
  controller?.abort();
  controller = null;
  const engine = running.peek();
  const input = text.peek();
  if (input.trim() === '') {
    batch(() => {
      views.value = [];
      activity.value = null;
      unsettled.value = false;
      dismissAll('translate');
    });
    return;
  }
  if (engine === null) {
    unsettled.value = false;
    return;
  }
  const own = new AbortController();
  controller = own;
  void run(engine, input, own);
}

async function run(engine: Running, input: string, own: AbortController): Promise<void> {
  const count = searchBeams.peek();
  const options: TranslateOptions = {
    beams: count,
    nBest: Math.min(alternatives.peek(), count),
    sample: false,
    ...spoken(direction.peek()),
  };
  forgetUnless(engine, JSON.stringify(options), muted.peek());
  const painter = paintOnce();
  try {
    const result = await runTranslation({
      translator: engine.translator,
      text: input,
      // which changes nothing of what is found
      options: { ...options, keepAttention: showAttention.peek() },
      signal: own.signal,
      known,
      shown: views.peek(),
      show: (fresh, done, total) => painter.paint(fresh, total === 0 ? null : { done, total }),
    });
    if (own.signal.aborted) return;
    painter.flush();
    batch(() => {
      activity.value = null;
      unsettled.value = waiting;
      if (result.tokens > 0) outcome.value = result;
      dismissAll('translate');
    });
  } catch (error) {
    if (own.signal.aborted || isAbort(error)) return;
    painter.flush();
    batch(() => {
      activity.value = null;
      unsettled.value = waiting;
    });
    const again = { label: 'Try again', run: translateAgain };
    notify(
      explainWork(error, 'translate', again, { label: 'Load the model again', run: () => void reload() }),
    );
  } finally {
    if (own.signal.aborted) painter.stop();
  }
}

/**
 * At most one update a frame, however fast the news comes; a page in the background has no frames, but goes
 * on.
 */
function paintOnce(): {
  paint(fresh: readonly View[], now: Activity | null): void;
  flush(): void;
  stop(): void;
} {
  let frame = 0;
  let fallback = 0;
  let pending: { fresh: readonly View[]; now: Activity | null } | null = null;
  const flush = (): void => {
    cancelAnimationFrame(frame);
    clearTimeout(fallback);
    frame = 0;
    if (pending === null) return;
    const { fresh, now } = pending;
    pending = null;
    batch(() => {
      views.value = fresh;
      activity.value = now;
    });
  };
  return {
    paint(fresh, now) {
      pending = { fresh, now };
      if (frame !== 0) return;
      frame = requestAnimationFrame(flush);
      fallback = window.setTimeout(flush, LONGEST_FRAME);
    },
    flush,
    stop() {
      cancelAnimationFrame(frame);
      clearTimeout(fallback);
      pending = null;
    },
  };
}

/** Translations are kept for one model under one set of options and of muted heads, the newest ones. */
function forgetUnless(engine: Running, options: string, heads: readonly string[]): void {
  if (engine !== knownBy || (heads.length > 0 && plain.peek()?.options !== options)) plain.value = null;
  const wanted = [options, ...heads].join(' ');
  if (engine !== knownBy || wanted !== knownFor || known.size > MOST_KNOWN) {
    known = new Map();
    if (heads.length === 0) {
      const before = plain.peek();
      if (before?.options === options && before.known.size <= MOST_KNOWN) known = before.known;
      plain.value = { options, known };
    }
  }
  knownBy = engine;
  knownFor = wanted;
}

/** What a sentence's translation was when no head was muted; null: it was not translated then, or none is. */
export function plainOf(passage: number, sentence: number): string | null {
  const view = views.value[passage];
  const before = plain.value;
  if (muted.value.length === 0 || before === null || view?.translated == null) return null;
  const was = before.known.get(keyOf(cut(text.peek()).tag, view.passage.source));
  return was?.sentences[sentence]?.hypotheses[was.chosen[sentence] ?? 0]?.text ?? null;
}

/** Shows another hypothesis of a sentence, wherever its passage stands, and remembers it. */
export function choose(passage: number, sentence: number, rank: number): void {
  const view = views.peek()[passage];
  if (view?.translated == null) return;
  const { source } = view.passage;
  const chosen = view.translated.chosen.map((old, index) => (index === sentence ? rank : old));
  const translated = { ...view.translated, chosen };
  known.set(keyOf(cut(text.peek()).tag, source), translated);
  views.value = views
    .peek()
    .map((other) =>
      other.passage.source === source && other.translated !== null
        ? doneView(other.passage, translated)
        : other,
    );
}
