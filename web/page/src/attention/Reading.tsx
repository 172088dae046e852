/** A sentence about one cell or one row. */
import { cell } from './choice.ts';
import { keysOf, labelOf, queriesOf } from './labels.ts';
import type { MapOnShow } from './traces.ts';

export function Reading({ map }: { map: MapOnShow }) {
  const at = cell.value;
  const query = at === null ? undefined : queriesOf(map.shown.sentence, map.kind)[at.row];
  return (
    <p class="heatmap__reading" role="status">
      {at === null || query === undefined ? (
        <span class="quiet">Point at a token or a cell, or move with the arrow keys. Enter or a double click shows every number behind it.</span>
      ) : (
        <>
          {map.kind === 'encoder' ? 'Reading' : 'Writing'}{' '}
          <b>
            <bdi>{labelOf(query)}</bdi>
          </b>{' '}
          <Looked map={map} row={at.row} column={at.column} />
        </>
      )}
    </p>
  );
}

/** A map of a very long text has no numbers here, only a picture. */
function Looked({ map, row, column }: { map: MapOnShow; row: number; column: number | null }) {
  const keys = keysOf(map.shown.sentence, map.kind);
  if (map.weights.length === 0) {
    return (
      <>
        {`(token ${row + 1})`}
        {column === null ? null : (
          <>
            {' and '}
            <b>
              <bdi>{labelOf(keys[column]) || 'a sum of tokens'}</bdi>
            </b>{' '}
            {`(token ${column + 1})`}
          </>
        )}
      </>
    );
  }
  const key = column ?? largestOf(map, row);
  const weight = map.weights[row * map.shape[1] + key] ?? 0;
  return (
    <>
      {column === null ? 'looked most at' : 'looked at'}{' '}
      <b>
        <bdi>{labelOf(keys[key]) || 'a sum of tokens'}</bdi>
      </b>{' '}
      with <b class="number">{weight.toFixed(3)}</b>
    </>
  );
}

function largestOf({ weights, shape: [, columns] }: MapOnShow, row: number): number {
  let best = 0;
  for (let column = 1; column < columns; column += 1) {
    if ((weights[row * columns + column] ?? 0) > (weights[row * columns + best] ?? 0)) best = column;
  }
  return best;
}
