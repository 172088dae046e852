/** Translates while the user types: waits for a pause, stops outdated work, caches translations. */
import { batch, computed, effect, signal } from '@preact/signals';
import type { Hypothesis, TranslateOptions } from 'wordloom';

import { explainWork, isAbort } from '../engine/explain.ts';
import type { Direction } from '../engine/languages.ts';
import { reload, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { interventions } from '../interventions.ts';
import { dismissAll, notify } from '../notices.ts';
import { alternatives, beams, showAttention, text } from '../settings.ts';
import { direction, languageOptions, optionsOfFirst } from './direction.ts';
import { glossaryOption } from './glossary.ts';
import { cut } from './passages.ts';
import type { Translated } from './passages.ts';
import type { Outcome } from './run.ts';
import { keyOf, runTranslation } from './run.ts';
import type { View } from './views.ts';
import { doneView } from './views.ts';

export interface Activity {
  readonly done: number;
  readonly total: number;
  /** The part of a long text that the encoder has read, 0 to 1; null once words are written. */
  readonly reading: number | null;
}

export const views = signal<readonly View[]>([]);
/** null: nothing is being translated. */
export const activity = signal<Activity | null>(null);
/** Whether a change has no complete translation yet. */
export const unsettled = signal(false);
/** The outcome of the last translation that used the model. */
export const outcome = signal<Outcome | null>(null);
export const searchBeams = computed(() => beams.value ?? running.value?.info.defaults.beams ?? 4);

const PAUSE = 150;
/** The longest wait in milliseconds while the user types without a pause. */
const LONGEST_WAIT = 600;
const LONGEST_FRAME = 200;
const MOST_KNOWN = 5000;

let known = new Map<string, Translated>();
let knownFor = '';
/** Translations of the model as it was trained, for comparison and for reuse. */
const plain = signal<{ options: string; known: Map<string, Translated> } | null>(null);
let knownBy: Running | null = null;
let controller: AbortController | null = null;
let timer = 0;
/** Whether a change waits for its translation; an older translation that ends meanwhile does not settle it. */
let waiting = false;
let waitingSince = 0;

/** Follows the text, the model and the options from now on. */
export function startTranslating(): void {
  interface Wanted {
    text: string;
    engine: Running | null;
    into: Direction | null;
    changed: readonly string[];
  }
  let last: Wanted = { text: '', engine: null, into: null, changed: [] };
  effect(() => {
    const now = { text: text.value, engine: running.value, into: direction.value, changed: interventions.value };
    void searchBeams.value;
    void alternatives.value;
    void glossaryOption.value;
    // only typing waits; a new model or language, a first text and an emptied text do not
    const same = now.engine === last.engine && now.into === last.into && now.changed === last.changed;
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
    ...(engine.info.model.summarizes ? { document: 'truncate' as const } : {}),
    ...languageOptions(direction.peek()),
    ...glossaryOption.peek(),
  };
  forgetUnless(engine, JSON.stringify(options), interventions.peek());
  const painter = paintOnce();
  try {
    const result = await runTranslation({
      translator: engine.translator,
      before: engine.via === null ? null : through(engine.via, options),
      text: input,
      // does not change the result
      options: { ...options, keepAttention: showAttention.peek() },
      signal: own.signal,
      known,
      shown: views.peek(),
      show: (fresh, done, total, reading) => painter.paint(fresh, total === 0 ? null : { done, total, reading }),
    });
    if (own.signal.aborted) return;
    painter.flush();
    batch(() => {
      activity.value = null;
      unsettled.value = waiting;
      const last = outcome.peek();
      if (result.tokens > 0) outcome.value = result;
      else if (last !== null) outcome.value = { ...last, leftOut: result.leftOut };
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

/** The first half of a translation through English. */
function through(via: NonNullable<Running['via']>, { beams }: TranslateOptions) {
  const { translator } = via;
  const options = { ...optionsOfFirst(via), beams, sample: false };
  return async (lines: readonly string[], signal: AbortSignal): Promise<string[]> => {
    const { text } = await translator.translate(lines.join('\n'), { ...options, signal });
    const found = text.split('\n');
    if (found.length === lines.length) return found;
    // a model that writes line breaks of its own
    const each = lines.map((line) => translator.translate(line, { ...options, signal }));
    return (await Promise.all(each)).map(({ text }) => text.replaceAll('\n', ' '));
  };
}

/** Updates at most once a frame. A page in the background has no frames, and updates by a timer. */
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

/** Drops cached translations of other models, options or interventions, and the oldest. */
function forgetUnless(engine: Running, options: string, changed: readonly string[]): void {
  if (engine !== knownBy || (changed.length > 0 && plain.peek()?.options !== options)) plain.value = null;
  const wanted = [options, ...changed].join(' ');
  if (engine !== knownBy || wanted !== knownFor || known.size > MOST_KNOWN) {
    known = new Map();
    if (changed.length === 0) {
      const before = plain.peek();
      if (before?.options === options && before.known.size <= MOST_KNOWN) known = before.known;
      plain.value = { options, known };
    }
  }
  knownBy = engine;
  knownFor = wanted;
}

/** A sentence's translation by the model as it was trained; null if it is unknown, or if nothing differs. */
export function plainOf(passage: number, sentence: number): Hypothesis | null {
  const view = views.value[passage];
  const before = plain.value;
  if (interventions.value.length === 0 || before === null || view?.translated == null) return null;
  const was = before.known.get(keyOf(cut(text.peek()).tag, view.passage.source));
  return was?.sentences[sentence]?.hypotheses[was.chosen[sentence] ?? 0] ?? null;
}

/** Shows another hypothesis of a sentence and remembers the choice for all equal passages. */
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
