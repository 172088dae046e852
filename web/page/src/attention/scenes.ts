/** Each view as a picture to save, with labels. */
import type { MapView } from 'wordloom';

import { mapColours, mapScale } from '../settings.ts';
import { bundle } from './bundle.ts';
import { step } from './choice.ts';
import { headName, KIND_NAMES, keysOf, labelOf, queriesOf } from './labels.ts';
import type { Scene, Text } from './scene.ts';
import type { MapOnShow, Shown } from './traces.ts';
import { kindOnShow } from './traces.ts';

interface Paper {
  readonly background: string;
  readonly ink: string;
  readonly accent: string;
}

const MARGIN = 16;

/** The page's present colours, light or dark. */
function paper(): Paper {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return { background: of('--card'), ink: of('--ink'), accent: of('--accent') };
}

function howPainted(): Pick<MapView, 'scale' | 'colours' | 'rows'> {
  const rows = step.peek();
  return { scale: mapScale.peek(), colours: mapColours.peek(), ...(rows === null ? {} : { rows }) };
}

export function titleOf({ kind, layer, head }: Pick<MapOnShow, 'kind' | 'layer' | 'head'>): string {
  return `${KIND_NAMES[kind]}, ${headName(layer, head)}`;
}

export async function mapScene(map: MapOnShow): Promise<Scene> {
  const [rows, columns] = map.shape;
  const far = map.weights.length === 0;
  const queries = far ? [] : queriesOf(map.shown.sentence, map.kind).map(labelOf);
  const keys = far ? [] : keysOf(map.shown.sentence, map.kind).map(labelOf);
  const longest = Math.max(rows, columns);
  const side = far ? 2400 / longest : Math.max(8, Math.min(32, Math.floor(2400 / longest)));
  const dots = far ? side : 1;
  const size = Math.min(13, side - 1);
  const room = (labels: readonly string[]): number =>
    MARGIN + 6 + labels.reduce((most, label) => Math.max(most, label.length), 0) * size * 0.6;
  const [left, top] = [room(queries), room(keys)];
  const pixels = await map.shown.trace.paint(
    { kind: map.kind, layer: map.layer, head: map.head, sentence: map.shown.index },
    {
      width: Math.max(1, Math.round(columns * dots)),
      height: Math.max(1, Math.round(rows * dots)),
      cell: [dots, dots],
      ...howPainted(),
    },
  );
  const texts: Text[] = [
    ...queries.map((text, index) => {
      return { x: left - 6, y: top + (index + 0.5) * side, text, size, anchor: 'end' as const };
    }),
    ...keys.map((text, index) => {
      const x = left + (index + 0.5) * side;
      return { x, y: top - 6, text, size, anchor: 'start' as const, upright: true };
    }),
  ];
  return {
    ...paper(),
    title: titleOf(map),
    width: Math.ceil(left + columns * side + MARGIN),
    height: Math.ceil(top + rows * side + MARGIN),
    images: [{ x: left, y: top, width: columns * side, height: rows * side, pixels }],
    paths: [],
    texts,
  };
}

export async function headsScene(shown: Shown): Promise<Scene> {
  const of = kindOnShow.peek();
  if (of === null) throw new Error('There are no heads to draw.');
  const { kind, layers, heads, queries, keys } = of;
  const across = 140;
  const down = Math.round(across * Math.max(0.4, Math.min(2.5, queries / keys)));
  const gap = 10;
  const gapDown = (gap * (down / queries)) / (across / keys);
  const [wide, high] = [heads * (across + gap) - gap, Math.round(layers.length * (down + gapDown) - gapDown)];
  const pixels = await shown.trace.paint(
    { kind, layer: 'all', head: 'all', sentence: shown.index },
    {
      width: wide,
      height: high,
      cell: [across / keys, down / queries],
      gap: (gap * keys) / across,
      ...howPainted(),
    },
  );
  const [left, top] = [MARGIN + 24, MARGIN + 22];
  const texts: Text[] = [
    ...layers.map((layer, row): Text => {
      const y = top + row * (down + gapDown) + down / 2;
      return { x: left - 10, y, text: String(layer + 1), size: 13, anchor: 'end' };
    }),
    ...Array.from({ length: heads }, (_, head): Text => {
      const x = left + head * (across + gap) + across / 2;
      return { x, y: top - 12, text: String(head + 1), size: 13, anchor: 'middle' };
    }),
  ];
  return {
    ...paper(),
    title: `${KIND_NAMES[kind]}, all heads: a row for each layer`,
    width: left + wide + MARGIN,
    height: top + high + MARGIN,
    images: [{ x: left, y: top, width: wide, height: high, pixels }],
    paths: [],
    texts,
  };
}

export function linesScene(map: MapOnShow): Scene {
  const queries = queriesOf(map.shown.sentence, map.kind).map(labelOf);
  const keys = keysOf(map.shown.sentence, map.kind).map(labelOf);
  const [line, width] = [24, 640];
  const room = (labels: readonly string[]): number =>
    MARGIN + 10 + labels.reduce((most, label) => Math.max(most, label.length), 0) * 8;
  const [left, right] = [room(queries), width - room(keys)];
  const y = (index: number): number => MARGIN + (index + 0.5) * line;
  const { ink, background, accent } = paper();
  const { paths } = bundle(map, { y, left, right }, step.peek() ?? queries.length, null);
  return {
    background,
    ink,
    title: titleOf(map),
    width,
    height: 2 * MARGIN + Math.max(queries.length, keys.length) * line,
    images: [],
    paths: paths.map((path) => ({ ...path, stroke: accent })),
    texts: [
      ...queries.map((text, index): Text => ({ x: left - 8, y: y(index), text, size: 14, anchor: 'end' })),
      ...keys.map((text, index): Text => ({ x: right + 8, y: y(index), text, size: 14, anchor: 'start' })),
    ],
  };
}
