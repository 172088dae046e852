/** The explanation of the chosen token, layer and head: computed while the microscope is open. */
import { batch, computed, effect, signal } from '@preact/signals';
import type { ExplainedToken, Explanation, Hypothesis, TracedSentence, TracedToken } from 'wordloom';

import { look, row } from '../attention/choice.ts';
import { labelOf, queriesOf } from '../attention/labels.ts';
import { kindOnShow, opened, pickOnShow, shown } from '../attention/traces.ts';
import { explainWork, isAbort, messageOf } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import { interventions } from '../interventions.ts';
import { dismissAll, notify } from '../notices.ts';
import { showAttention } from '../settings.ts';
import { direction, languageOptions } from '../translation/direction.ts';
import { selected } from '../translation/selection.ts';

/** The newest explanation; it stays while the next one is computed. */
export const explanation = signal<Explanation | null>(null);
/** Whether `explanation` is of an older choice. */
export const old = signal(false);
/** Why an opened trace cannot be explained: it has no taps of the chosen layer, for example. */
export const failure = signal<string | null>(null);
const again = signal(0);

/** The chosen head. The microscope looks at one head, so a mean becomes the last layer, or the first head. */
export const headOnShow = computed(() => {
  const of = kindOnShow.value;
  const { layer, head } = pickOnShow.value;
  if (of === null) return null;
  return {
    kind: of.kind,
    layer: layer === 'mean' ? (of.layers.at(-1) ?? 0) : layer,
    head: head === 'mean' ? 0 : head,
  };
});

/** The row on show: a shorter sentence may lack the chosen one. */
export const queryOnShow = computed(() => {
  const now = shown.value;
  const of = headOnShow.value;
  if (now === null || of === null) return 0;
  return Math.min(row.value, queriesOf(now.sentence, of.kind).length - 1);
});

/** The sentence of the engine's numbers, once the map is of it, too. */
const hypothesisOnShow = computed<{ hypothesis: Hypothesis; rank: number } | null>(() => {
  const now = selected.value;
  const of = shown.value?.sentence;
  if (now === null || of === undefined || opened.value !== null) return null;
  if (of.source !== now.source.source || of.target !== now.hypothesis.text) return null;
  return now;
});

/** Follows every choice. */
export function followMicroscope(): void {
  effect(() => {
    const file = opened.value;
    const head = headOnShow.value;
    const query = queryOnShow.value;
    failure.value = null;
    if (!showAttention.value || look.value !== 'microscope' || file === null || head === null) return undefined;
    old.value = true;
    const { index, sentence } = shown.peek()!;
    const controller = new AbortController();
    file.trace.explain({ ...head, query, sentence: index }, { signal: controller.signal }).then(
      (found) => {
        if (!controller.signal.aborted) show(named(found, sentence));
      },
      (error: unknown) => {
        if (controller.signal.aborted || isAbort(error)) return;
        batch(() => {
          explanation.value = null;
          failure.value = messageOf(error);
        });
      },
    );
    return () => controller.abort();
  });
  effect(() => {
    void again.value;
    void interventions.value;
    const engine = running.value;
    const head = headOnShow.value;
    const query = queryOnShow.value;
    if (!showAttention.value || look.value !== 'microscope' || engine === null || head === null || opened.value !== null) return undefined;
    old.value = true;
    if (hypothesisOnShow.value === null) return undefined;
    const { source, rank } = selected.peek()!;
    const { sentence } = shown.peek()!;
    const controller = new AbortController();
    const options = { token: query, ...head, signal: controller.signal, ...languageOptions(direction.peek()) };
    engine.translator.explain({ sentence: source, hypothesis: rank }, options).then(
      (found) => {
        if (controller.signal.aborted) return;
        show(named(found, sentence));
      },
      (error: unknown) => {
        if (controller.signal.aborted || isAbort(error)) return;
        batch(() => {
          explanation.value = null;
          notify(
            explainWork(
              error,
              'microscope',
              { label: 'Try again', run: () => void (again.value += 1) },
              { label: 'Load the model again', run: () => void reload() },
            ),
          );
        });
      },
    );
    return () => controller.abort();
  });
}

function show(found: Explanation): void {
  batch(() => {
    explanation.value = found;
    old.value = false;
    dismissAll('microscope');
  });
}

/** The explanation with the labels of the maps, in which control tokens have names. */
function named(found: Explanation, { sourceTokens, targetTokens }: TracedSentence): Explanation {
  const { kind } = found.head;
  const label = (token: ExplainedToken, among: readonly TracedToken[]): ExplainedToken => {
    const same = among[token.position];
    return same?.id === token.id ? { ...token, label: labelOf(same) } : token;
  };
  return {
    ...found,
    query: label(found.query, kind === 'encoder' ? sourceTokens : targetTokens),
    produces: found.produces && label(found.produces, targetTokens),
    keys: found.keys.map((key) => label(key, kind === 'decoder' ? targetTokens : sourceTokens)),
  };
}
