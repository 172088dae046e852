/** The current trace: of the selected sentence while the panel is open, or from a file. */
import { batch, computed, effect, signal } from '@preact/signals';
import { openTrace } from 'wordloom';
import type { AttentionKind, Hypothesis, Trace, TracedKind, TracedSentence, Weights } from 'wordloom';

import { explainWork, isAbort, kindOf } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { modelName } from '../engine/source.ts';
import { interventions } from '../interventions.ts';
import { dismissAll, notify } from '../notices.ts';
import { showAttention } from '../settings.ts';
import { direction, languageOptions } from '../translation/direction.ts';
import { selected } from '../translation/selection.ts';
import { sentence as asSentence } from '../words.ts';
import { cell, head, kind, layer, step } from './choice.ts';
import type { Pick } from './choice.ts';

export interface Shown {
  readonly trace: Trace;
  /** Index of the trace's sentence. */
  readonly index: number;
  readonly sentence: TracedSentence;
}

export interface Opened {
  readonly name: string;
  readonly trace: Trace;
}

/** An opened trace file. It replaces the translation until it is closed. */
export const opened = signal<Opened | null>(null);
export const openedSentence = signal(0);
/** The trace of the newest translation. It stays while the next one is computed. */
const made = signal<Shown | null>(null);
const waiting = signal(false);

export const shown = computed<Shown | null>(() => {
  const file = opened.value;
  if (file === null) return made.value;
  const index = Math.min(openedSentence.value, file.trace.sentences.length - 1);
  const sentence = file.trace.sentences[index];
  return sentence === undefined ? null : { trace: file.trace, index, sentence };
});
/** Whether `shown` is of an older sentence than the selected one. */
export const stale = computed(() => opened.value === null && waiting.value);

/** The shown kind: the chosen one, or else one that the trace has. */
export const kindOnShow = computed<TracedKind | null>(() => {
  const kinds = shown.value?.sentence.kinds ?? [];
  return kinds.find((one) => one.kind === kind.value) ?? kinds[kinds.length - 1] ?? null;
});

export interface MapOnShow extends Weights {
  readonly shown: Shown;
  readonly kind: AttentionKind;
  readonly layer: Pick;
  readonly head: Pick;
}

/** The shown layer and head, if the trace has them: another model may have fewer. */
export const pickOnShow = computed<{ layer: Pick; head: Pick }>(() => {
  const now = kindOnShow.value;
  const among = (pick: Pick, has: boolean): Pick => (pick === 'mean' || has ? pick : 'mean');
  return {
    layer: among(layer.value, now?.layers.includes(Number(layer.value)) ?? false),
    head: among(head.value, Number(head.value) < (now?.heads ?? 0)),
  };
});
/** The weights of the shown map. */
export const map = signal<MapOnShow | null>(null);

/** Whether the shown map is of the selected sentence, not of the previous one. */
export const mapIsOfSelected = computed(() => {
  const now = selected.value;
  const of = map.value?.shown.sentence;
  return (
    opened.value === null &&
    now !== null &&
    of !== undefined &&
    of.source === now.source.source &&
    of.target === now.hypothesis.text
  );
});

/** Cached traces of a few hypotheses. Their weights take memory of the device or the worker. */
const MOST_KEPT = 6;
const kept = new Map<Hypothesis, Shown>();
let keptBy: Running | null = null;
/** What differed from the trained model for the cached traces. */
let keptWith: readonly string[] = [];
const again = signal(0);
/** Hypotheses traced again after a lost device, so that a picture that breaks the device is not repeated for ever. */
const renewed = new WeakSet<Hypothesis>();

export function followAttention(): void {
  effect(followSentence);
  effect(followMap);
}

function followSentence(): (() => void) | undefined {
  void again.value;
  const engine = running.value;
  if (!showAttention.value || engine === null || opened.value !== null) return undefined;
  const now = selected.value;
  if (now === null) {
    waiting.value = true;
    return undefined;
  }
  if (engine !== keptBy) kept.clear(); // the old engine's traces are gone
  const changed = interventions.peek();
  if (changed !== keptWith) {
    for (const { trace } of kept.values()) if (trace !== made.peek()?.trace) trace.close();
    kept.clear();
  }
  keptBy = engine;
  keptWith = changed;
  const { hypothesis, rank, source } = now;
  const known = kept.get(hypothesis);
  if (known !== undefined) {
    kept.delete(hypothesis);
    publish(hypothesis, known);
    return undefined;
  }
  waiting.value = true;
  const controller = new AbortController();
  engine.translator
    .trace({
      sentences: [{ sentence: source, hypothesis: rank }],
      model: modelName(engine.choice),
      signal: controller.signal,
      ...languageOptions(direction.peek()),
    })
    .then(
      (trace) => {
        const [sentence] = trace.sentences;
        if (controller.signal.aborted || sentence === undefined) trace.close();
        else publish(hypothesis, { trace, index: 0, sentence });
      },
      (error: unknown) => {
        if (!controller.signal.aborted) fail(error);
      },
    );
  return () => controller.abort();
}

function publish(hypothesis: Hypothesis, next: Shown): void {
  kept.set(hypothesis, next);
  batch(() => {
    made.value = next;
    waiting.value = false;
    step.value = null;
    dismissAll('attention');
  });
  for (const [old, { trace }] of kept) {
    if (kept.size <= MOST_KEPT) break;
    kept.delete(old);
    trace.close();
  }
}

function followMap(): (() => void) | undefined {
  const now = shown.value;
  const of = kindOnShow.value;
  if (!showAttention.value || now === null || of === null) return undefined;
  const pick = pickOnShow.value;
  const controller = new AbortController();
  now.trace
    .map({ kind: of.kind, sentence: now.index, ...pick }, { signal: controller.signal })
    .then(
      (weights) => {
        if (controller.signal.aborted) return;
        const old = map.peek();
        batch(() => {
          // keep the cell for another head, not for another text
          if (old?.shown !== now || old.kind !== of.kind) cell.value = null;
          map.value = { ...weights, shown: now, kind: of.kind, ...pick };
        });
      },
      (error: unknown) => fail(error, now),
    );
  return () => controller.abort();
}

/** Reports a failure of a trace, or of a call `of` a trace, except aborts. */
export function fail(error: unknown, of?: Shown): void {
  if (isAbort(error) || (of !== undefined && (isGone(of) || renew(error, of)))) return;
  const retry = { label: 'Try again', run: () => void (again.value += 1) };
  const fresh = { label: 'Load the model again', run: () => void reload() };
  notify(explainWork(error, 'attention', retry, fresh));
}

/** Whether another trace replaces it soon, so that failures do not matter. */
function isGone({ trace }: Shown): boolean {
  return trace !== opened.peek()?.trace && ![...kept.values()].some((one) => one.trace === trace);
}

/** Traces again if the weights were lost with the device. Returns whether it does. */
export function renew(error: unknown, of: Shown): boolean {
  const [hypothesis] = [...kept].find(([, { trace }]) => trace === of.trace) ?? [];
  if (kindOf(error) !== 'device-lost' || hypothesis === undefined) return false;
  for (const { trace } of kept.values()) trace.close();
  kept.clear();
  if (renewed.has(hypothesis)) return false;
  renewed.add(hypothesis);
  again.value += 1;
  return true;
}

/** Traces the selected sentence with all taps, for a file that opens in the microscope. `null` for an opened file: it has its own. */
export async function withTaps(): Promise<Trace | null> {
  const now = selected.peek();
  const engine = running.peek();
  if (opened.peek() !== null || now === null || engine === null) return null;
  return engine.translator.trace({
    sentences: [{ sentence: now.source, hypothesis: now.rank }],
    model: modelName(engine.choice),
    taps: ['*'],
    alternatives: 8, // as many as the microscope shows, with their spellings
    ...languageOptions(direction.peek()),
  });
}

/** Shows a trace file instead of the translation, without the model. */
export async function openFile(file: File): Promise<void> {
  try {
    const trace = await openTrace(file);
    if (trace.sentences.length === 0) {
      trace.close();
      throw new Error('It holds no sentence.');
    }
    const old = opened.peek();
    batch(() => {
      opened.value = { name: file.name, trace };
      openedSentence.value = 0;
      cell.value = null;
      step.value = null;
      showAttention.value = true;
      dismissAll('attention');
    });
    old?.trace.close();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    notify({
      about: 'attention',
      tone: 'error',
      title: `“${file.name}” could not be opened. ${asSentence(reason)}`,
      advice: 'A trace is what “Trace” below a map saves here, or what the command wordloom attend writes.',
    });
  }
}

/** Shows another sentence of the opened file. */
export function stepFile(by: 1 | -1): void {
  batch(() => {
    openedSentence.value += by;
    cell.value = null;
    step.value = null;
  });
}

/** Returns to the translation. */
export function closeFile(): void {
  const old = opened.peek();
  batch(() => {
    opened.value = null;
    cell.value = null;
    step.value = null;
  });
  old?.trace.close();
}
