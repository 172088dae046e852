/** A map in words, for screen readers: the largest weights of each token. */
import { memo } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';

import { keysOf, labelOf, queriesOf } from './labels.ts';
import type { MapOnShow } from './traces.ts';
import { t } from '../texts/texts.ts';

/** Limit of rows; the arrow keys and the saved tables have the rest. */
const MOST_ROWS = 60;

/** Drawn in a later task, because a table of a long text is slow to lay out. */
export const Summary = memo(function Summary({ map }: { map: MapOnShow }) {
  const [late, setLate] = useState<MapOnShow | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setLate(map), 30);
    return () => clearTimeout(timer);
  }, [map]);
  return late === null ? null : <Rows map={late} />;
});

function Rows({ map }: { map: MapOnShow }) {
  const { kind, shown, shape } = map;
  const queries = queriesOf(shown.sentence, kind);
  const keys = keysOf(shown.sentence, kind);
  const caption = t(kind === 'encoder' ? 'Where each source token looked most' : 'Where each written token looked most');
  return (
    <div class="sr-only">
      <table>
        <caption>
          {caption}
          {queries.length > MOST_ROWS && `: ${t('the first {most} of {count}', { most: MOST_ROWS, count: queries.length })}`}
        </caption>
        <thead>
          <tr>
            <th scope="col">{t(kind === 'encoder' ? 'Read' : 'Written')}</th>
            <th scope="col">{t('Most at')}</th>
            <th scope="col">{t('Weight')}</th>
            <th scope="col">{t('Then at')}</th>
            <th scope="col">{t('Weight')}</th>
          </tr>
        </thead>
        <tbody>
          {queries.slice(0, MOST_ROWS).map((query, row) => {
            const weights = map.weights.subarray(row * shape[1], (row + 1) * shape[1]);
            const [first, second] = twoLargest(weights);
            return (
              <tr key={row}>
                <th scope="row">{labelOf(query)}</th>
                <td>{labelOf(keys[first])}</td>
                <td>{(weights[first] ?? 0).toFixed(3)}</td>
                <td>{labelOf(keys[second])}</td>
                <td>{(weights[second] ?? 0).toFixed(3)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function twoLargest(weights: Float32Array): [number, number] {
  let [first, second] = [-1, -1];
  weights.forEach((weight, index) => {
    if (first < 0 || weight > (weights[first] ?? 0)) [first, second] = [index, first];
    else if (second < 0 || weight > (weights[second] ?? 0)) second = index;
  });
  return [first, second];
}
