/** The attention map on show: asked for only while its panel is open, kept for each hypothesis. */
import { effect, signal } from '@preact/signals';
import type { AttentionMap, Hypothesis } from 'wordloom';

import { explainWork, isAbort } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import { dismissAll, notify } from '../notices.ts';
import { showAttention } from '../settings.ts';
import { selected } from '../translation/selection.ts';
import type { Selected } from '../translation/selection.ts';

export type Pick = number | 'mean';

export interface Shown {
  readonly map: AttentionMap;
  readonly source: string;
  readonly target: string;
}

export const layer = signal<Pick>('mean');
export const head = signal<Pick>('mean');
/** The newest map there is; it stays while the next one is computed. */
export const shown = signal<Shown | null>(null);
/** Whether `shown` is of an older sentence, layer or head than the one that is wanted. */
export const stale = signal(false);

const known = new WeakMap<Hypothesis, Map<string, AttentionMap>>();
const again = signal(0);

export function followAttention(): void {
  effect(() => {
    void again.value;
    const engine = running.value;
    if (!showAttention.value || engine === null) return;
    const sentence = selected.value;
    if (sentence === null) {
      stale.value = true;
      return;
    }
    // a model with fewer layers or heads than the last one
    const { decoderLayers, decoderHeads } = engine.info.model;
    const pick = { layer: within(layer.value, decoderLayers), head: within(head.value, decoderHeads) };
    const cached = known.get(sentence.hypothesis)?.get(keyOf(pick));
    if (cached !== undefined) {
      publish(cached, sentence);
      return;
    }
    stale.value = true;
    const controller = new AbortController();
    engine.translator
      .attention(
        {
          kind: 'cross',
          sourceTokens: sentence.source.sourceTokens,
          targetTokens: sentence.hypothesis.tokens,
          ...pick,
        },
        { signal: controller.signal },
      )
      .then(
        (map) => {
          const maps = known.get(sentence.hypothesis) ?? new Map<string, AttentionMap>();
          known.set(sentence.hypothesis, maps.set(keyOf(pick), map));
          if (!controller.signal.aborted) publish(map, sentence);
        },
        (error: unknown) => {
          if (controller.signal.aborted || isAbort(error)) return;
          const retry = { label: 'Try again', run: () => void (again.value += 1) };
          const fresh = { label: 'Load the model again', run: () => void reload() };
          notify(explainWork(error, 'attention', retry, fresh));
        },
      );
    return () => controller.abort();
  });
}

function publish(map: AttentionMap, { source, hypothesis }: Selected): void {
  shown.value = { map, source: source.source, target: hypothesis.text };
  stale.value = false;
  dismissAll('attention');
}

function within(pick: Pick, count: number): Pick {
  return pick !== 'mean' && pick >= count ? 'mean' : pick;
}

function keyOf(pick: { layer: Pick; head: Pick }): string {
  return `${pick.layer}/${pick.head}`;
}
