/** The attention maps of the first validation pair at the moment on show, and the slider back in time. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AttentionKind } from 'wordloom';
import type { TrainedAttention } from 'wordloom/train';

import { mapColours } from '../settings.ts';
import { t, told } from '../texts/texts.ts';
import type { Text } from '../texts/texts.ts';
import { chosenMoment, moments, trainer } from './run.ts';
import { shownIndex, shownMoment } from './shown.ts';

type Map = TrainedAttention['cross'][number];

const KINDS: readonly { kind: AttentionKind; label: Text; hint: Text }[] = [
  { kind: 'cross', label: 'Cross', hint: 'Rows are answered symbols, columns are input symbols.' },
  { kind: 'encoder', label: 'Encoder', hint: 'Rows are input symbols, columns are those that they read.' },
  { kind: 'decoder', label: 'Decoder', hint: 'Rows are answered symbols, columns are those said before.' },
];

const kind = signal<AttentionKind>('cross');

export function Maps() {
  const moment = shownMoment.value;
  const colours = useColours();
  if (moment === undefined) return null;
  const { attention, check } = moment;
  const layers = attention[kind.value];
  const hint = KINDS.find((one) => one.kind === kind.value)?.hint;
  // a decoder's row reads the symbol before the one that it says
  const said = [t('start'), ...attention.target.slice(0, -1)].map(nameOf);
  const keys = kind.value === 'decoder' ? said : attention.source.map(nameOf);
  const queries = kind.value === 'encoder' ? attention.source.map(nameOf) : attention.target.map(nameOf);
  return (
    <div class="moments">
      <div class="choice__list" role="radiogroup" aria-label={t('Kind of attention')}>
        {KINDS.map((one) => (
          <label class="choice__item" key={one.kind}>
            <input
              type="radio"
              name="train-kind"
              checked={one.kind === kind.value}
              onChange={() => (kind.value = one.kind)}
            />
            <span>{told(one.label)}</span>
          </label>
        ))}
      </div>
      <TimeSlider step={check.step} />
      <div class="train__scroll" tabIndex={0} role="region" aria-label={t('Attention maps')}>
        <div class="moments__grid" style={{ '--heads': layers[0]?.shape[0] ?? 1 }}>
          {layers.map((map, layer) =>
            Array.from({ length: map.shape[0] }, (_, head) => (
              <figure class="moment" key={`${layer}/${head}`}>
                <HeadMap map={map} head={head} colours={colours} keys={keys} queries={queries} />
                <figcaption class="quiet number">
                  {t('Layer {layer}, head {head}', { layer: layer + 1, head: head + 1 })}
                </figcaption>
              </figure>
            )),
          )}
        </div>
      </div>
      <p class="quiet">
        {t('One validation pair, {source} → {target}.', {
          source: attention.source.slice(0, -1).join('').trim(),
          target: attention.target.slice(0, -1).join('').trim(),
        })}{' '}
        {hint !== undefined && told(hint)} {t('Brighter is more; ⏎ is the end.')}
      </p>
    </div>
  );
}

function TimeSlider({ step }: { step: number }) {
  const last = moments.value.length - 1;
  const newest = chosenMoment.value === null;
  return (
    <div class="player">
      <label class="sr-only" for="train-moment">
        {t('Moment of the training')}
      </label>
      <input
        id="train-moment"
        type="range"
        min={0}
        max={Math.max(1, last)}
        disabled={last < 1}
        value={shownIndex.value}
        aria-valuetext={t('Step {step}', { step })}
        onInput={(event) => {
          const index = Number(event.currentTarget.value);
          chosenMoment.value = index >= last ? null : index;
        }}
      />
      <output class="player__count quiet number" for="train-moment">
        {t('Step {step}', { step: step.toLocaleString('en') })}
      </output>
      <button type="button" class="button" disabled={newest} onClick={() => (chosenMoment.value = null)}>
        {t('Newest')}
      </button>
    </div>
  );
}

interface HeadMapProps {
  readonly map: Map;
  readonly head: number;
  readonly colours: Uint8Array | null;
  readonly keys: readonly string[];
  readonly queries: readonly string[];
}

function HeadMap({ map, head, colours, keys, queries }: HeadMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [, rows, columns] = map.shape;
  const weights = map.weights.subarray(head * rows * columns, (head + 1) * rows * columns);
  useEffect(() => {
    const element = canvas.current;
    if (element === null || colours === null) return;
    element.width = columns;
    element.height = rows;
    const rgba = new Uint8ClampedArray(4 * weights.length);
    weights.forEach((weight, index) => {
      const colour = 3 * Math.round(255 * Math.max(0, Math.min(1, weight)));
      rgba.set([colours[colour] ?? 0, colours[colour + 1] ?? 0, colours[colour + 2] ?? 0, 255], 4 * index);
    });
    element.getContext('2d')?.putImageData(new ImageData(rgba, columns, rows), 0, 0);
  }, [map, head, colours]);
  return (
    <div class="moment__map" style={{ '--columns': columns, '--rows': rows }}>
      <span class="moment__keys" aria-hidden="true">
        {keys.map((key, index) => (
          <bdi key={index}>{key}</bdi>
        ))}
      </span>
      <span class="moment__queries" aria-hidden="true">
        {queries.map((query, index) => (
          <bdi key={index}>{query}</bdi>
        ))}
      </span>
      <canvas ref={canvas} role="img" aria-label={describe(weights, rows, columns, queries, keys)} />
    </div>
  );
}

/** Each row's largest weight, in words. */
function describe(
  weights: Float32Array,
  rows: number,
  columns: number,
  queries: readonly string[],
  keys: readonly string[],
): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    const of = weights.subarray(row * columns, (row + 1) * columns);
    const best = of.reduce((most, weight, index) => (weight > (of[most] ?? 0) ? index : most), 0);
    const percent = Math.round(100 * (of[best] ?? 0));
    return t('{query} looks at {key}, {percent} percent', { query: queries[row] ?? '', key: keys[best] ?? '', percent });
  });
  return lines.join('; ');
}

function nameOf(symbol: string): string {
  if (symbol === '</s>') return '⏎';
  return symbol === ' ' ? '␣' : symbol.trim();
}

/** The table of the chosen colours, from the engine. */
function useColours(): Uint8Array | null {
  const from = trainer.value;
  const name = mapColours.value;
  const [table, setTable] = useState<Uint8Array | null>(null);
  useEffect(() => {
    let stopped = false;
    from?.colours(name).then(
      (colours) => stopped || setTable(colours),
      () => {},
    );
    return () => {
      stopped = true;
    };
  }, [from, name]);
  return table;
}
