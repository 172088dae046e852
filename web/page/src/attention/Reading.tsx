/** A sentence about one cell or one row. */
import { cell } from './choice.ts';
import { keysOf, labelOf, queriesOf } from './labels.ts';
import type { MapOnShow } from './traces.ts';
import { t, tx } from '../texts/texts.ts';

export function Reading({ map }: { map: MapOnShow }) {
  const at = cell.value;
  const query = at === null ? undefined : queriesOf(map.shown.sentence, map.kind)[at.row];
  return (
    <p class="heatmap__reading" role="status">
      {at === null || query === undefined ? (
        <span class="quiet">{t('Point at a token or a cell, or move with the arrow keys. Enter or a double click shows every number behind it.')}</span>
      ) : (
        <>
          <Looked map={map} query={labelOf(query)} row={at.row} column={at.column} />
        </>
      )}
    </p>
  );
}

interface LookedProps {
  readonly map: MapOnShow;
  readonly query: string;
  readonly row: number;
  readonly column: number | null;
}

/** A map of a very long text has no numbers here, only a picture. */
function Looked({ map, query, row, column }: LookedProps) {
  const keys = keysOf(map.shown.sentence, map.kind);
  const reads = map.kind === 'encoder';
  const bold = (text: string) => (
    <b>
      <bdi>{text}</bdi>
    </b>
  );
  const keyOf = (at: number) => bold(labelOf(keys[at]) || t('a sum of tokens'));
  if (map.weights.length === 0) {
    const first = { query: bold(query), row: row + 1 };
    if (column === null) return <>{tx(reads ? 'Reading {query} (token {row})' : 'Writing {query} (token {row})', first)}</>;
    const both = { ...first, key: keyOf(column), column: column + 1 };
    return (
      <>
        {tx(
          reads
            ? 'Reading {query} (token {row}) and {key} (token {column})'
            : 'Writing {query} (token {row}) and {key} (token {column})',
          both,
        )}
      </>
    );
  }
  const key = column ?? largestOf(map, row);
  const weight = map.weights[row * map.shape[1] + key] ?? 0;
  const values = { query: bold(query), key: keyOf(key), weight: <b class="number">{weight.toFixed(3)}</b> };
  if (column === null) {
    return <>{tx(reads ? 'Reading {query} looked most at {key} with {weight}' : 'Writing {query} looked most at {key} with {weight}', values)}</>;
  }
  return <>{tx(reads ? 'Reading {query} looked at {key} with {weight}' : 'Writing {query} looked at {key} with {weight}', values)}</>;
}

function largestOf({ weights, shape: [, columns] }: MapOnShow, row: number): number {
  let best = 0;
  for (let column = 1; column < columns; column += 1) {
    if ((weights[row * columns + column] ?? 0) > (weights[row * columns + best] ?? 0)) best = column;
  }
  return best;
}
