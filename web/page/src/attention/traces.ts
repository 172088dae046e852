/** The trace on show: made of the chosen sentence while the panel is open, or opened from a file. */
import { batch, computed, effect, signal } from '@preact/signals';
import { openTrace } from 'wordloom';
import type { AttentionKind, Hypothesis, Trace, TracedKind, TracedSentence, Weights } from 'wordloom';

import { explainWork, isAbort, kindOf } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { modelName } from '../engine/source.ts';
import { muted } from '../muting/muted.ts';
import { dismissAll, notify } from '../notices.ts';
import { showAttention } from '../settings.ts';
import { direction, spoken } from '../translation/direction.ts';
import { selected } from '../translation/selection.ts';
import { sentence as asSentence } from '../words.ts';
import { cell, head, kind, layer, step } from './choice.ts';
import type { Pick } from './choice.ts';

export interface Shown {
  readonly trace: Trace;
  /** Which of the trace's sentences. */
  readonly index: number;
  readonly sentence: TracedSentence;
}

export interface Opened {
  readonly name: string;
  readonly trace: Trace;
}

/** A trace file takes the place of the translation until it is closed. */
export const opened = signal<Opened | null>(null);
export const openedSentence = signal(0);
/** Of the newest translation; it stays while the next one is computed. */
const made = signal<Shown | null>(null);
const waiting = signal(false);

export const shown = computed<Shown | null>(() => {
  const file = opened.value;
  if (file === null) return made.value;
  const index = Math.min(openedSentence.value, file.trace.sentences.length - 1);
  const sentence = file.trace.sentences[index];
  return sentence === undefined ? null : { trace: file.trace, index, sentence };
});
/** Whether `shown` is of an older sentence than the one that is wanted. */
export const stale = computed(() => opened.value === null && waiting.value);

/** The kind that is looked at: the chosen one, or one that the trace has. */
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

/** The layer and the head as far as the trace has them: another model may have fewer. */
export const pickOnShow = computed<{ layer: Pick; head: Pick }>(() => {
  const now = kindOnShow.value;
  const among = (pick: Pick, has: boolean): Pick => (pick === 'mean' || has ? pick : 'mean');
  return {
    layer: among(layer.value, now?.layers.includes(Number(layer.value)) ?? false),
    head: among(head.value, Number(head.value) < (now?.heads ?? 0)),
  };
});
/** The weights of the map that is looked at. */
export const map = signal<MapOnShow | null>(null);

/** Whether the map on show is of the sentence that is selected in the two texts, and not of the one before it. */
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

/** Traces of hypotheses that may be looked at again. Their weights take the device's memory, or the worker's: only a few. */
const MOST_KEPT = 6;
const kept = new Map<Hypothesis, Shown>();
let keptBy: Running | null = null;
/** The heads that were muted then. */
let keptWith: readonly string[] = [];
const again = signal(0);
/** Looked at once more because a device was lost: a picture that takes the device with it is not tried for ever. */
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
  if (engine !== keptBy) kept.clear(); // the old engine's traces went with it
  const silent = muted.peek();
  if (silent !== keptWith) {
    for (const { trace } of kept.values()) if (trace !== made.peek()?.trace) trace.close();
    kept.clear();
  }
  keptBy = engine;
  keptWith = silent;
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
      ...spoken(direction.peek()),
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
          // the same place of another head says something; of another text it does not
          if (old?.shown !== now || old.kind !== of.kind) cell.value = null;
          map.value = { ...weights, shown: now, kind: of.kind, ...pick };
        });
      },
      (error: unknown) => fail(error, now),
    );
  return () => controller.abort();
}

/** What goes wrong with a trace, or with what was asked `of` one, unless somebody wanted it to stop. */
export function fail(error: unknown, of?: Shown): void {
  if (isAbort(error) || (of !== undefined && (isGone(of) || renew(error, of)))) return;
  const retry = { label: 'Try again', run: () => void (again.value += 1) };
  const fresh = { label: 'Load the model again', run: () => void reload() };
  notify(explainWork(error, 'attention', retry, fresh));
}

/** Whether another takes its place soon, and nobody waits for what it was asked. */
function isGone({ trace }: Shown): boolean {
  return trace !== opened.peek()?.trace && ![...kept.values()].some((one) => one.trace === trace);
}

/** Where weights went with a device that was lost, they are computed anew, on the next one. Whether that is so. */
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

/** Shows a trace file in place of the translation. Nothing is asked of the model. */
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

/** Another sentence of the opened file. */
export function stepFile(by: 1 | -1): void {
  batch(() => {
    openedSentence.value += by;
    cell.value = null;
    step.value = null;
  });
}

/** Back to the translation. */
export function closeFile(): void {
  const old = opened.peek();
  batch(() => {
    opened.value = null;
    cell.value = null;
    step.value = null;
  });
  old?.trace.close();
}
