/** The position encoding that the model adds to its embeddings: 50 positions and 128 dimensions, as in the literature. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Positions } from 'wordloom';

import { isAbort } from '../engine/explain.ts';
import { running } from '../engine/load.ts';
import { DIMENSIONS, POSITIONS, positionPixels } from './position-scene.ts';
import { fail } from './traces.ts';
import { useColours } from './use-colours.ts';
import { t } from '../texts/texts.ts';

export function PositionTable() {
  const engine = running.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [table, setTable] = useState<Positions | null>(null);
  const [all, setAll] = useState(false);
  const colours = useColours();
  useEffect(() => {
    if (engine === null) return undefined;
    const controller = new AbortController();
    engine.translator.positions(POSITIONS, { signal: controller.signal }).then(setTable, (error: unknown) => {
      if (!isAbort(error)) fail(error);
    });
    return () => controller.abort();
  }, [engine]);
  const [rows, width] = table?.shape ?? [0, 0];
  const columns = all ? width : Math.min(width, DIMENSIONS);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context == null || table?.values === undefined || colours === null) return;
    const pixels = positionPixels(table, columns, colours);
    context.putImageData(new ImageData(pixels.rgba, pixels.width, pixels.height), 0, 0);
  }, [table, columns, colours]);
  if (engine === null) return <p class="quiet">{t('The picture needs a model: these are its own numbers.')}</p>;
  if (table === null) return <p class="quiet">{t('One moment …')}</p>;
  if (table.values === undefined) {
    const words = table.kind === 'learned' ? 'has learned its positions' : 'knows distances only, no positions';
    return <p class="quiet">There are no waves to be seen: this model {words}.</p>;
  }
  const order = t(WORDS[table.layout ?? 'halves']);
  return (
    <figure class="positions">
      <div class="positions__plot">
        <span class="positions__y">{t('position')}</span>
        <canvas
          ref={canvas}
          width={columns}
          height={rows}
          role="img"
          aria-label={`${t('Sinusoidal position encoding: {rows} positions and {columns} dimensions.', { rows, columns })} ${order}`}
        />
        <span class="positions__ends number" aria-hidden="true">
          <span>0</span>
          <span>{t('dimension')}</span>
          <span>{columns - 1}</span>
        </span>
      </div>
      <figcaption>
        <p>
          {t('Each row is what is added to the token at that place, from −1 to 1.')} {order}{' '}
          {t('Fast waves tell neighbours apart, slow ones say where in the text one is.')}
        </p>
        {width > DIMENSIONS && (
          <label class="check">
            <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
            {t('All {count} dimensions of this model', { count: width })}
          </label>
        )}
      </figcaption>
    </figure>
  );
}

const WORDS = {
  halves: 'This model keeps all sines first, then all cosines; the waves grow longer from left to right.',
  interleaved: 'Sines and cosines take turns; the waves grow longer from left to right.',
} as const;
