/**
 * One map: tokens on both sides, and the cell under the pointer or keyboard. The canvas has one pixel per cell and is
 * stretched. Only labels near the screen exist, so a long text costs little more than a short one. A very long text is drawn
 * small, until the reader enlarges a place.
 */
import { useMemo, useRef } from 'preact/hooks';
import type { MapView } from 'wordloom';

import { mapColours, mapScale } from '../settings.ts';
import { useSize } from '../ui/hooks.ts';
import { cell, look, step } from './choice.ts';
import type { Cell } from './choice.ts';
import { keysOf, kindName, labelOf, queriesOf } from './labels.ts';
import { Reading } from './Reading.tsx';
import { Summary } from './Summary.tsx';
import type { MapOnShow } from './traces.ts';
import { useNearCells } from './use-near-cells.ts';
import { usePainting } from './use-painting.ts';
import { useZoom } from './use-zoom.ts';
import { t } from '../texts/texts.ts';

const LARGEST_CELL = 38;
const SMALLEST_CELL = 14;
/** The largest room for labels. */
const LARGEST_LABEL = 104;

interface Grid {
  readonly cell: number;
  readonly rows: number;
  readonly columns: number;
}

export function Heatmap({ map, stale }: { map: MapOnShow; stale: boolean }) {
  const frame = useRef<HTMLDivElement>(null);
  const scroll = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(frame);
  const [rows, columns] = map.shape;
  // a picture of a very long text has no labels; a pixel is the largest of the weights under it
  const isLong = map.weights.length === 0;
  const zoom = useZoom(scroll, SMALLEST_CELL);
  const far = isLong && zoom.place === null;
  const sentence = map.shown.sentence;
  const keys = useMemo(() => (far ? [] : keysOf(sentence, map.kind).map(labelOf)), [sentence, map.kind, far]);
  const queries = useMemo(() => (far ? [] : queriesOf(sentence, map.kind).map(labelOf)), [sentence, map.kind, far]);
  const left = roomFor(queries);
  const top = roomFor(keys) + 6;
  const room = width - left - 8;
  const side = far
    ? Math.max(1, room) / Math.max(rows, columns)
    : Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, Math.floor(room / Math.max(1, columns))));
  const grid: Grid = { cell: side, rows, columns };
  const near = useNearCells(scroll, side);
  const part = far ? wholePicture(grid) : isLong ? partOf(grid, near) : { width: columns, height: rows, cell: ONE_DOT };
  usePainting(
    canvas,
    map.shown,
    { kind: map.kind, layer: map.layer, head: map.head, sentence: map.shown.index },
    {
      ...part,
      scale: mapScale.value,
      colours: mapColours.value,
      ...(step.value === null ? {} : { rows: step.value }),
    },
  );
  const at = cell.value !== null && cell.value.row < rows && (cell.value.column ?? 0) < columns ? cell.value : null;
  const playing = step.value === null ? null : step.value - 1;

  const labels = (texts: readonly string[], [first, last]: readonly [number, number], current: number | null) =>
    texts.slice(first, last).map((text, offset) => {
      const index = first + offset;
      return (
        <span
          class={index === current ? 'heatmap__label is-current' : 'heatmap__label'}
          style={{ '--at': index }}
          key={index}
        >
          <bdi>{text}</bdi>
        </span>
      );
    });

  return (
    <div class={stale ? 'heatmap heatmap--stale' : 'heatmap'} ref={frame}>
      <div
        class="heatmap__scroll"
        ref={scroll}
        role="application"
        aria-roledescription={t('heatmap')}
        aria-label={describe(map)}
        tabIndex={0}
        onKeyDown={(event) => {
          if (isLong && (far ? event.key === 'Enter' : event.key === 'Escape')) {
            event.preventDefault();
            if (far) zoom.into(at);
            else zoom.out();
            return;
          }
          if (event.key === 'Enter') openMicroscope();
          const next = move(at ?? zoom.place, event.key, grid);
          if (next === null) return;
          event.preventDefault();
          cell.value = next;
          follow(scroll.current, next, side, left, top);
        }}
        onFocus={() => (cell.value ??= strongest(map))}
        onBlur={() => (cell.value = null)}
      >
        <div
          class={far ? 'heatmap__grid heatmap__grid--far' : 'heatmap__grid'}
          style={{
            '--cell': `${side}px`,
            '--columns': columns,
            '--rows': rows,
            '--left': `${left}px`,
            '--top': `${top}px`,
          }}
        >
          <div class="heatmap__corner" aria-hidden="true" />
          <div class="heatmap__keys" aria-hidden="true">
            {labels(keys, near.columns, at?.column ?? null)}
          </div>
          <div class="heatmap__queries" aria-hidden="true">
            {labels(queries, near.rows, at?.row ?? playing)}
          </div>
          <div
            class="heatmap__cells"
            onPointerMove={(event) => (cell.value = under(event, grid))}
            onPointerDown={(event) => (cell.value = under(event, grid))}
            onPointerLeave={() => (cell.value = null)}
            onClick={(event) => {
              if (far) zoom.into(under(event, grid));
            }}
            onDblClick={openMicroscope}
          >
            <canvas ref={canvas} aria-hidden="true" />
            {at !== null && at.column !== null && (
              <span
                class="heatmap__cursor"
                style={{ '--row': at.row, '--column': at.column }}
                aria-hidden="true"
              />
            )}
          </div>
        </div>
      </div>
      <Reading map={map} />
      {isLong && (
        <button type="button" class="button" onClick={() => (far ? zoom.into(at) : zoom.out())}>
          {far ? t('Zoom in to the cells') : t('Show the whole map')}
        </button>
      )}
      {!isLong && <Summary map={map} />}
    </div>
  );
}

/** One pixel for each cell. */
const ONE_DOT: [number, number] = [1, 1];

/** The whole map as small as the screen is. */
function wholePicture({ cell: side, rows, columns }: Grid): Pick<MapView, 'width' | 'height' | 'cell'> {
  const dots = side * Math.min(window.devicePixelRatio || 1, 2);
  const [width, height] = [columns, rows].map((count) => Math.max(1, Math.round(count * dots))) as [number, number];
  return { width, height, cell: [dots, dots] };
}

/** The cells on or near the screen. */
function partOf(
  { rows, columns }: Grid,
  near: ReturnType<typeof useNearCells>,
): Pick<MapView, 'width' | 'height' | 'cell' | 'origin'> {
  const range = ([first, last]: readonly [number, number], count: number): [number, number] => {
    const start = Math.min(first, count - 1);
    return [start, Math.min(last, count) - start];
  };
  const [[x, width], [y, height]] = [range(near.columns, columns), range(near.rows, rows)];
  return { width, height, cell: ONE_DOT, origin: [x, y] };
}

function describe({ kind, shape: [rows, columns], weights }: MapOnShow): string {
  const sides = {
    cross: 'Attention of {rows} written tokens to {columns} source tokens, {kind}. Arrow keys move.',
    encoder: 'Attention of {rows} source tokens to each other, {kind}. Arrow keys move.',
    decoder: 'Attention of {rows} written tokens to those before them, {kind}. Arrow keys move.',
  } as const;
  const map = t(sides[kind], { rows, columns, kind: kindName(kind) });
  return weights.length > 0 ? map : `${map} ${t('Enter zooms in to the cells, Escape shows the whole map.')}`;
}

function roomFor(labels: readonly string[]): number {
  const longest = labels.reduce((most, label) => Math.max(most, label.length), 0);
  return Math.min(LARGEST_LABEL, 20 + Math.ceil(longest * 7.4));
}

/** Scrolls a cell into view, beside the fixed labels. */
function follow(box: HTMLElement | null, { row, column }: Cell, side: number, left: number, top: number): void {
  if (box === null) return;
  const [x, y] = [(column ?? 0) * side, row * side];
  const within = (now: number, start: number, room: number): number =>
    Math.min(start, Math.max(now, start + side - room));
  box.scrollLeft = within(box.scrollLeft, x, box.clientWidth - left);
  box.scrollTop = within(box.scrollTop, y, box.clientHeight - top);
}

function strongest({ weights, shape: [, columns] }: MapOnShow): Cell {
  const row = weights.subarray(0, columns);
  return { row: 0, column: row.reduce((best, weight, index) => (weight > (row[best] ?? 0) ? index : best), 0) };
}

function under(event: MouseEvent, { cell: side, rows, columns }: Grid): Cell | null {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / side);
  const row = Math.floor((event.clientY - box.top) / side);
  const inside = row >= 0 && row < rows && column >= 0 && column < columns;
  if (!inside) return null;
  const now = cell.peek();
  return now?.row === row && now.column === column ? now : { row, column };
}

/** Shows every number behind the last row under the pointer. */
function openMicroscope(): void {
  look.value = 'microscope';
}

/** null: another key. */
function move(from: Cell | null, key: string, { rows, columns }: Grid): Cell | null {
  const row = from?.row ?? 0;
  const column = from?.column ?? 0;
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
