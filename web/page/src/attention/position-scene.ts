/** The position table as pixels and as a picture. */
import type { Pixels, Positions, Trace } from 'wordloom';

import { running } from '../engine/load.ts';
import { mapColours } from '../settings.ts';
import type { Scene, Text } from './scene.ts';

export const POSITIONS = 50;
/** Number of dimensions, as in the literature. */
export const DIMENSIONS = 128;

/** Pixels of the first `columns` dimensions; −1 is the first colour, 1 the last. */
export function positionPixels({ values, shape }: Positions, columns: number, colours: Uint8Array): Pixels {
  const [height, all] = shape ?? [0, 0];
  const rgba = new Uint8ClampedArray(4 * columns * height);
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const share = ((values?.[row * all + column] ?? 0) + 1) / 2;
      const from = 3 * Math.max(0, Math.min(255, Math.round(share * 255)));
      const at = 4 * (row * columns + column);
      rgba.set(colours.subarray(from, from + 3), at);
      rgba[at + 3] = 255;
    }
  }
  return { width: columns, height, rgba };
}

export async function positionsScene(trace: Trace): Promise<Scene> {
  const table = await running.peek()?.translator.positions(POSITIONS);
  if (table?.shape === undefined) throw new Error('This model has no such table.');
  const [rows, width] = table.shape;
  const columns = Math.min(width, DIMENSIONS);
  const pixels = positionPixels(table, columns, await trace.colours(mapColours.peek()));
  const [left, top, side] = [56, 16, 8];
  const bottom = top + rows * side;
  const text = (words: string, x: number, y: number, more: Partial<Text> = {}): Text => {
    return { text: words, x, y, size: 13, anchor: 'middle', ...more };
  };
  const style = getComputedStyle(document.documentElement);
  return {
    background: style.getPropertyValue('--card').trim(),
    ink: style.getPropertyValue('--ink').trim(),
    title: `Position encoding: ${rows} positions, ${columns} dimensions`,
    width: left + columns * side + 16,
    height: bottom + 40,
    images: [{ x: left, y: top, width: columns * side, height: rows * side, pixels }],
    paths: [],
    texts: [
      text('position', 14, top + (rows * side) / 2, { upright: true }),
      text('0', left - 8, top + side / 2, { anchor: 'end' }),
      text(String(rows - 1), left - 8, bottom - side / 2, { anchor: 'end' }),
      text('dimension', left + (columns * side) / 2, bottom + 20),
      text('0', left + side / 2, bottom + 20),
      text(String(columns - 1), left + (columns - 0.5) * side, bottom + 20),
    ],
  };
}
