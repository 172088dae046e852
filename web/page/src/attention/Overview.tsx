/** All heads of a kind: a row for each layer, a column for each head. A click or Enter opens one. */
import { useRef, useState } from 'preact/hooks';

import { isMuted } from '../muting/muted.ts';
import { mapColours, mapScale } from '../settings.ts';
import { useSize } from '../ui/hooks.ts';
import { open, step } from './choice.ts';
import { headName, kindName } from './labels.ts';
import { kindOnShow, opened, pickOnShow, stale } from './traces.ts';
import type { Shown } from './traces.ts';
import { useNumbers } from './use-numbers.ts';
import { LARGEST_CANVAS, usePainting } from './use-painting.ts';
import { t, told } from '../texts/texts.ts';

const GAP = 8;
const LARGEST_MAP = 148;
const SMALLEST_MAP = 34;
/** Room for the layers' numbers. */
const MARGIN = 26;
/** Limit of cells up to which heads are named, because names of large maps are slow. */
const MOST_CELLS_NAMED = 4096;

export function Overview({ shown }: { shown: Shown }) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(frame);
  const of = kindOnShow.value;
  const [focus, setFocus] = useState<readonly [number, number]>([0, 0]);
  const layers = of?.layers ?? [];
  const heads = of?.heads ?? 0;
  const { queries, keys } = of ?? { queries: 1, keys: 1 };
  const room = (width - MARGIN - GAP * (heads - 1)) / Math.max(1, heads);
  const across = Math.max(SMALLEST_MAP, Math.min(LARGEST_MAP, Math.floor(room)));
  const down = Math.round(across * Math.max(0.4, Math.min(2.5, queries / keys)));
  // the painter's gap has as many cells downwards as across
  const gapDown = (GAP * (down / queries)) / (across / keys);
  const wide = heads * (across + GAP) - GAP;
  const high = layers.length * (down + gapDown) - gapDown;
  const scale = Math.min(window.devicePixelRatio || 1, LARGEST_CANVAS / Math.max(wide, high, 1));
  const cell: [number, number] = [(across * scale) / keys, (down * scale) / queries];
  const gap = (GAP * scale) / cell[0];
  const choice = { kind: of?.kind ?? 'cross', layer: 'all', head: 'all', sentence: shown.index } as const;
  usePainting(
    canvas,
    shown,
    choice,
    of === null || width === 0
      ? null
      : {
          width: Math.max(1, Math.round(wide * scale)),
          height: Math.max(1, Math.round(high * scale)),
          cell,
          gap,
          scale: mapScale.value,
          colours: mapColours.value,
          ...(step.value === null ? {} : { rows: step.value }),
        },
  );
  const numbers = useNumbers(queries * keys <= MOST_CELLS_NAMED ? shown : null, of?.kind ?? 'cross');
  if (of === null) return null;
  const pick = pickOnShow.value;
  const move = (event: KeyboardEvent): void => {
    const [row, column] = focus;
    const next = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, heads - 1],
    }[event.key];
    const [toRow = -1, toColumn = -1] = next ?? [];
    if (next === undefined || toRow < 0 || toColumn < 0 || toRow >= layers.length || toColumn >= heads) return;
    event.preventDefault();
    setFocus([toRow, toColumn]);
    const buttons = (event.currentTarget as HTMLElement).querySelectorAll('button');
    buttons[toRow * heads + toColumn]?.focus();
  };
  return (
    <div class={stale.value ? 'overview overview--stale' : 'overview'} ref={frame}>
      <div class="overview__scroll">
        <div
          class="overview__grid"
          style={{ '--wide': `${wide}px`, '--high': `${high}px`, '--margin': `${MARGIN}px` }}
          role="group"
          aria-label={t('All heads of {kind}. Arrow keys move, Enter opens one.', { kind: kindName(of.kind) })}
          onKeyDown={move}
        >
          {Array.from({ length: heads }, (_, head) => (
            <span
              class="overview__head number"
              style={{ '--x': `${head * (across + GAP)}px`, '--across': `${across}px` }}
              aria-hidden="true"
              key={head}
            >
              {head + 1}
            </span>
          ))}
          {layers.map((layer, row) => (
            <span
              class="overview__layer number"
              style={{ '--y': `${row * (down + gapDown)}px`, '--down': `${down}px` }}
              aria-hidden="true"
              key={layer}
            >
              {layer + 1}
            </span>
          ))}
          <canvas ref={canvas} aria-hidden="true" />
          {layers.map((layer, row) =>
            Array.from({ length: heads }, (_, head) => {
              const known = numbers?.find((one) => one.layer === layer && one.head === head);
              const silent = opened.value === null && isMuted({ kind: of.kind, layer, head });
              const name =
                headName(layer, head) + (known === undefined ? '' : `: ${told(known.label)}`) + (silent ? `, ${t('muted')}` : '');
              return (
                <button
                  type="button"
                  class={silent ? 'overview__map is-muted' : 'overview__map'}
                  style={{
                    '--x': `${head * (across + GAP)}px`,
                    '--y': `${row * (down + gapDown)}px`,
                    '--across': `${across}px`,
                    '--down': `${down}px`,
                  }}
                  aria-label={name.charAt(0).toUpperCase() + name.slice(1)}
                  aria-current={pick.layer === layer && pick.head === head}
                  title={name}
                  tabIndex={row === focus[0] && head === focus[1] ? 0 : -1}
                  onFocus={() => setFocus([row, head])}
                  onClick={() => open({ layer, head })}
                  key={`${layer}/${head}`}
                />
              );
            }),
          )}
        </div>
      </div>
      <p class="quiet overview__note">
        {t('A row for each layer, a column for each head; in each map, rows are queries and columns are keys.')}
      </p>
    </div>
  );
}
