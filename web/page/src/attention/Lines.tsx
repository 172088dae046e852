/** One map as lines between two columns of tokens: queries on the left, keys on the right. */
import { useMemo, useRef, useState } from 'preact/hooks';

import { useSize } from '../ui/hooks.ts';
import { bundle } from './bundle.ts';
import { cell, step } from './choice.ts';
import type { Cell } from './choice.ts';
import { keysOf, kindName, labelOf, queriesOf } from './labels.ts';
import { Reading } from './Reading.tsx';
import { Summary } from './Summary.tsx';
import type { MapOnShow } from './traces.ts';
import { useNearCells } from './use-near-cells.ts';
import { t } from '../texts/texts.ts';

export const LINE = 24;
const WIDEST = 640;

export function Lines({ map, stale }: { map: MapOnShow; stale: boolean }) {
  const frame = useRef<HTMLDivElement>(null);
  const scroll = useRef<HTMLDivElement>(null);
  const { width } = useSize(frame);
  // the selected key; the selected query is shared with the other views
  const [key, setKey] = useState<number | null>(null);
  const queries = queriesOf(map.shown.sentence, map.kind);
  const keys = keysOf(map.shown.sentence, map.kind);
  const wide = Math.min(WIDEST, width);
  const label = Math.min(150, Math.floor(wide * 0.3));
  const rows = step.value ?? queries.length;
  const row = cell.value?.row ?? null;
  const at: Cell | null =
    key !== null ? { row: -1, column: key } : row === null ? null : { row, column: null };
  const { paths, threshold } = useMemo(() => {
    const placing = { y: (index: number) => index * LINE + LINE / 2, left: label + 8, right: wide - label - 8 };
    return bundle(map, placing, rows, at);
  }, [map, wide, label, rows, at?.row, at?.column]);
  const [first, last] = useNearCells(scroll, LINE).rows;
  const high = Math.max(queries.length, keys.length) * LINE;
  const weightTo = (index: number): number =>
    row === null || key !== null ? 0 : (map.weights[row * map.shape[1] + index] ?? 0);
  const weightFrom = (index: number): number =>
    key === null ? 0 : (map.weights[index * map.shape[1] + key] ?? 0);
  const point = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const index = Math.floor((event.clientY - box.top) / LINE);
    const x = event.clientX - box.left;
    if (x < wide / 2) {
      setKey(null);
      const inside = index >= 0 && index < queries.length;
      if (cell.peek()?.row !== index) cell.value = inside ? { row: index, column: null } : null;
    } else {
      cell.value = null;
      setKey(index >= 0 && index < keys.length ? index : null);
    }
  };
  const leave = (): void => {
    cell.value = null;
    setKey(null);
  };
  return (
    <div class={stale ? 'lines lines--stale' : 'lines'} ref={frame}>
      <div
        class="lines__scroll"
        ref={scroll}
        role="application"
        aria-roledescription={t('lines between tokens')}
        aria-label={t('Lines from {queries} to {keys} tokens, {kind}. Arrow keys move from token to token.', {
          queries: queries.length,
          keys: keys.length,
          kind: kindName(map.kind),
        })}
        tabIndex={0}
        onKeyDown={(event) => {
          const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
          if (by === undefined) return;
          event.preventDefault();
          setKey(null);
          const next = Math.max(0, Math.min(queries.length - 1, (row ?? -1) + by));
          cell.value = { row: next, column: null };
          const box = event.currentTarget;
          const top = Math.max(next * LINE + LINE - box.clientHeight, Math.min(box.scrollTop, next * LINE));
          box.scrollTop = top;
        }}
        onBlur={leave}
      >
        {width > 0 && (
          <svg
            width={wide}
            height={high}
            viewBox={`0 0 ${wide} ${high}`}
            aria-hidden="true"
            onPointerMove={point}
            onPointerDown={point}
            onPointerLeave={leave}
          >
            {/* the whole picture takes the pointer, not the lines alone */}
            <rect width={wide} height={high} fill="transparent" />
            <g class="lines__bundle">
              {paths.map(({ d, opacity }) => (
                <path d={d} stroke-opacity={opacity} key={opacity} />
              ))}
            </g>
            {near(queries, first, last, (token, index) => (
              <Label
                text={labelOf(token)}
                x={label}
                y={index * LINE + LINE / 2}
                anchor="end"
                room={label}
                current={index === row && key === null}
                weight={weightFrom(index)}
                faded={index >= rows}
                key={`q${index}`}
              />
            ))}
            {near(keys, first, last, (token, index) => (
              <Label
                text={labelOf(token)}
                x={wide - label}
                y={index * LINE + LINE / 2}
                anchor="start"
                room={label}
                current={index === key}
                weight={weightTo(index)}
                faded={false}
                key={`k${index}`}
              />
            ))}
          </svg>
        )}
      </div>
      <Reading map={map} />
      {at === null && threshold > 0.02 && (
        <p class="quiet">
          Weights below {threshold.toFixed(2)} are left out here; point at a token to see all of its lines.
        </p>
      )}
      <Summary map={map} />
    </div>
  );
}

/** Draws the tokens on or near the screen. */
function near<T, U>(tokens: readonly T[], first: number, last: number, draw: (token: T, index: number) => U): U[] {
  return tokens.slice(first, last).map((token, offset) => draw(token, first + offset));
}

interface LabelProps {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly anchor: 'start' | 'end';
  readonly room: number;
  readonly current: boolean;
  readonly weight: number;
  readonly faded: boolean;
}

function Label({ text, x, y, anchor, room, current, weight, faded }: LabelProps) {
  const most = Math.floor(room / 7.5);
  const letters = [...text];
  return (
    <>
      {weight > 0.01 && (
        <rect
          class="lines__weight"
          x={anchor === 'end' ? x - room : x}
          y={y - LINE / 2 + 1}
          width={room}
          height={LINE - 2}
          rx="4"
          fill-opacity={Math.min(1, weight) * 0.5}
        />
      )}
      <text
        class={`lines__label${current ? ' is-current' : ''}${faded ? ' is-faded' : ''}`}
        x={anchor === 'end' ? x - 4 : x + 4}
        y={y}
        text-anchor={anchor}
        dominant-baseline="central"
      >
        {letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : text}
      </text>
    </>
  );
}
