/** Draws an attention map on a canvas: a cell's ink is its weight, from none to the map's largest. */
import type { AttentionMap } from 'wordloom';

export interface Grid {
  /** Side of a cell in CSS pixels. */
  readonly cell: number;
  readonly rows: number;
  readonly columns: number;
}

export interface Colours {
  readonly paper: string;
  readonly ink: string;
}

const LARGEST_CELL = 38;
const SMALLEST_CELL = 14;
/** A canvas beyond this side is refused by some browsers. */
const LARGEST_CANVAS = 8192;

/** Cells as large as the room allows, never too small to point at. */
export function layOut(map: AttentionMap, room: number): Grid {
  const [rows, columns] = map.shape;
  const cell = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, Math.floor(room / Math.max(1, columns))));
  return { cell, rows, columns };
}

export function largestWeight(map: AttentionMap): number {
  return map.weights.reduce((largest, weight) => Math.max(largest, weight), 0);
}

export function draw(canvas: HTMLCanvasElement, map: AttentionMap, grid: Grid, colours: Colours): void {
  const { cell, rows, columns } = grid;
  const longest = cell * Math.max(rows, columns);
  const scale = Math.min(window.devicePixelRatio || 1, LARGEST_CANVAS / longest);
  canvas.width = Math.round(columns * cell * scale);
  canvas.height = Math.round(rows * cell * scale);
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(scale, scale);
  context.fillStyle = colours.paper;
  context.fillRect(0, 0, columns * cell, rows * cell);
  context.fillStyle = colours.ink;
  const largest = largestWeight(map) || 1;
  const gap = cell > 20 ? 1.5 : 1;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const weight = map.weights[row * columns + column] ?? 0;
      // an empty cell keeps a breath of ink, so that the grid can be seen
      context.globalAlpha = 0.05 + 0.95 * (weight / largest);
      context.beginPath();
      context.roundRect(
        column * cell + gap / 2,
        row * cell + gap / 2,
        cell - gap,
        cell - gap,
        cell > 20 ? 3 : 1,
      );
      context.fill();
    }
  }
  context.globalAlpha = 1;
}
