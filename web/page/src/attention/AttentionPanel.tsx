/** The attention of the translation on show: which layer, which head, and what the picture means. */
import { running } from '../engine/load.ts';
import { views } from '../translation/live.ts';
import { SentencePicker } from '../ui/SentencePicker.tsx';
import { largestWeight } from './draw.ts';
import { Formula } from './Formula.tsx';
import { Heatmap } from './Heatmap.tsx';
import { head, layer, shown, stale } from './maps.ts';
import type { Pick } from './maps.ts';

export function AttentionPanel() {
  const now = views.value.length === 0 ? null : shown.value;
  const model = running.value?.info.model;
  return (
    <section class="panel panel--attention" id="attention" aria-labelledby="attention-title">
      <div class="panel__head">
        <h2 id="attention-title">Attention</h2>
        <SentencePicker />
      </div>
      <div class="attention">
        <div class="attention__map">
          {now === null ? (
            <p class="quiet">The map appears with the first translation.</p>
          ) : (
            <Heatmap map={now.map} stale={stale.value} />
          )}
        </div>
        <div class="attention__side">
          {model !== undefined && (
            <>
              <Choice
                label="Layer"
                name="layer"
                count={model.decoderLayers}
                value={layer.value}
                set={(pick) => (layer.value = pick)}
              />
              <Choice
                label="Head"
                name="head"
                count={model.decoderHeads}
                value={head.value}
                set={(pick) => (head.value = pick)}
              />
            </>
          )}
          {now !== null && (
            <div class="legend" aria-hidden="true">
              <span class="number">0</span>
              <span class="legend__ramp" />
              <span class="number">{largestWeight(now.map).toFixed(2)}</span>
            </div>
          )}
          <Formula width={model === undefined ? null : Math.round(model.dModel / model.decoderHeads)} />
        </div>
      </div>
    </section>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly name: string;
  readonly count: number;
  readonly value: Pick;
  set(pick: Pick): void;
}

function Choice({ label, name, count, value, set }: ChoiceProps) {
  const picks: Pick[] = ['mean', ...Array.from({ length: count }, (_, index) => index)];
  const current = value !== 'mean' && value >= count ? 'mean' : value;
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      <div class="choice__list">
        {picks.map((pick) => (
          <label class="choice__item" key={pick}>
            <input type="radio" name={name} checked={pick === current} onChange={() => set(pick)} />
            <span>{pick === 'mean' ? 'mean' : pick + 1}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
