/** The map itself: tokens on both sides, a cell under the pointer or the keyboard, and what it says. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { AttentionMap } from 'wordloom';

import { tokenLabel } from '../translation/tokens.ts';
import { useSize } from '../ui/hooks.ts';
import { draw, layOut } from './draw.ts';
import type { Grid } from './draw.ts';

interface Cell {
  readonly row: number;
  readonly column: number;
}

interface Props {
  readonly map: AttentionMap;
  readonly stale: boolean;
}

/** Room for the words on the left. */
const LABELS = 104;

export function Heatmap({ map, stale }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(frame);
  const [cell, setCell] = useState<Cell | null>(null);
  const dark = useDark();
  const grid = layOut(map, width - LABELS - 8);

  // Another sentence: the pointer has to move again, but who is here by keyboard stays where they are.
  useEffect(() => {
    const focused = frame.current?.contains(document.activeElement) ?? false;
    const { rows, columns } = grid;
    setCell((old) => {
      if (old === null || !focused) return null;
      return { row: Math.min(old.row, rows - 1), column: Math.min(old.column, columns - 1) };
    });
  }, [map.queries.length, map.keys.length]);
  useLayoutEffect(() => {
    if (canvas.current === null || frame.current === null || width === 0) return;
    const style = getComputedStyle(frame.current);
    draw(canvas.current, map, grid, {
      paper: style.getPropertyValue('--card').trim(),
      ink: style.getPropertyValue('--accent').trim(),
    });
  }, [map, grid.cell, width, dark]);

  const at = cell !== null && cell.row < grid.rows && cell.column < grid.columns ? cell : null;
  const reading = at === null ? null : read(map, at);
  return (
    <div class={stale ? 'heatmap heatmap--stale' : 'heatmap'} ref={frame}>
      <div
        class="heatmap__scroll"
        role="application"
        aria-roledescription="heatmap"
        aria-label={
          `Attention of ${grid.rows} written tokens to ${grid.columns} source tokens. ` + 'Arrow keys move.'
        }
        tabIndex={0}
        onKeyDown={(event) => {
          const next = move(at, event.key, grid);
          if (next === null) return;
          event.preventDefault();
          setCell(next);
        }}
        onFocus={() => at ?? setCell(strongest(map))}
        onBlur={() => setCell(null)}
      >
        <div
          class="heatmap__grid"
          style={{
            '--cell': `${grid.cell}px`,
            '--columns': grid.columns,
            '--rows': grid.rows,
            '--labels': `${LABELS}px`,
          }}
        >
          <div class="heatmap__keys" aria-hidden="true">
            {map.keys.map((token, column) => (
              <span class={column === at?.column ? 'heatmap__key is-current' : 'heatmap__key'} key={column}>
                <bdi>{tokenLabel(token)}</bdi>
              </span>
            ))}
          </div>
          <div class="heatmap__queries" aria-hidden="true">
            {map.queries.map((token, row) => (
              <span class={row === at?.row ? 'heatmap__query is-current' : 'heatmap__query'} key={row}>
                <bdi>{tokenLabel(token)}</bdi>
              </span>
            ))}
          </div>
          <div
            class="heatmap__cells"
            onPointerMove={(event) => setCell(under(event, grid))}
            onPointerDown={(event) => setCell(under(event, grid))}
            onPointerLeave={() => setCell(null)}
          >
            <canvas ref={canvas} aria-hidden="true" />
            {at !== null && (
              <span
                class="heatmap__cursor"
                style={{ '--row': at.row, '--column': at.column }}
                aria-hidden="true"
              />
            )}
          </div>
        </div>
      </div>
      <p class="heatmap__reading" role="status">
        {reading === null ? (
          <span class="quiet">Point at a cell, or move with the arrow keys.</span>
        ) : (
          <>
            Writing{' '}
            <b>
              <bdi>{reading.query}</bdi>
            </b>{' '}
            looked at{' '}
            <b>
              <bdi>{reading.key}</bdi>
            </b>{' '}
            with <b class="number">{reading.weight}</b>
          </>
        )}
      </p>
      <Summary map={map} />
    </div>
  );
}

/** The same in words, for those who do not see the picture: where each token looked most. */
function Summary({ map }: { map: AttentionMap }) {
  const [rows] = map.shape;
  return (
    <div class="sr-only">
      <table>
        <caption>Where each written token looked most</caption>
        <thead>
          <tr>
            <th scope="col">Written</th>
            <th scope="col">Most at</th>
            <th scope="col">Weight</th>
            <th scope="col">Then at</th>
            <th scope="col">Weight</th>
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: rows }, (_, row) => {
            const [first = 0, second = 0] = ranked(map, row);
            return (
              <tr key={row}>
                <th scope="row">{label(map.queries[row])}</th>
                <td>{label(map.keys[first])}</td>
                <td>{weightAt(map, row, first)}</td>
                <td>{label(map.keys[second])}</td>
                <td>{weightAt(map, row, second)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function ranked(map: AttentionMap, row: number): number[] {
  const [, columns] = map.shape;
  const weights = map.weights.subarray(row * columns, (row + 1) * columns);
  return Array.from(weights.keys()).sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0));
}

function strongest(map: AttentionMap): Cell {
  return { row: 0, column: ranked(map, 0)[0] ?? 0 };
}

function read(map: AttentionMap, { row, column }: Cell): { query: string; key: string; weight: string } {
  return { query: label(map.queries[row]), key: label(map.keys[column]), weight: weightAt(map, row, column) };
}

function weightAt(map: AttentionMap, row: number, column: number): string {
  return (map.weights[row * map.shape[1] + column] ?? 0).toFixed(3);
}

function label(token: AttentionMap['keys'][number] | undefined): string {
  return token === undefined ? '' : tokenLabel(token);
}

function under(event: PointerEvent, { cell, rows, columns }: Grid): Cell | null {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / cell);
  const row = Math.floor((event.clientY - box.top) / cell);
  return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
}

/** null: a key that means nothing here. */
function move(from: Cell | null, key: string, { rows, columns }: Grid): Cell | null {
  const { row, column } = from ?? { row: 0, column: 0 };
  const clamp = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));
  switch (key) {
    case 'ArrowLeft':
      return { row, column: clamp(column - 1, columns) };
    case 'ArrowRight':
      return { row, column: clamp(column + 1, columns) };
    case 'ArrowUp':
      return { row: clamp(row - 1, rows), column };
    case 'ArrowDown':
      return { row: clamp(row + 1, rows), column };
    case 'Home':
      return { row, column: 0 };
    case 'End':
      return { row, column: columns - 1 };
    case 'PageUp':
      return { row: 0, column };
    case 'PageDown':
      return { row: rows - 1, column };
    default:
      return null;
  }
}

/** Drawn colours do not follow the scheme by themselves. */
function useDark(): boolean {
  const query = window.matchMedia('(prefers-color-scheme: dark)');
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const change = (): void => setDark(query.matches);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, []);
  return dark;
}
