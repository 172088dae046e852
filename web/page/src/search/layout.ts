/** Positions of the nodes of a search: a column for each step, the best node on top. */
import type { SearchTree } from 'wordloom';

export const COLUMN = 128;
export const ROW = 34;
export const NODE = { width: 104, height: 26 } as const;
/** Width of the root. */
export const ROOT = 64;

export interface Placed {
  readonly index: number;
  /** The column, from 0. */
  readonly column: number;
  readonly row: number;
}

export interface Layout {
  /** The position of each node. */
  readonly places: readonly Placed[];
  readonly columns: readonly (readonly Placed[])[];
  /** The largest number of nodes in a column. */
  readonly rows: number;
}

export function layOut({ nodes }: SearchTree): Layout {
  const columns: Placed[][] = [];
  const places = nodes.map(({ step }, index) => {
    const column = (columns[step - 1] ??= []);
    const placed = { index, column: step - 1, row: column.length };
    column.push(placed);
    return placed;
  });
  return { places, columns, rows: columns.reduce((most, { length }) => Math.max(most, length), 0) };
}

export const left = (column: number): number => ROOT + column * COLUMN + (COLUMN - NODE.width);
export const middle = (row: number): number => row * ROW + ROW / 2;

/** The line from a node's parent to the node. */
export function edge({ places }: Layout, parent: number | null, to: Placed): string {
  const from = parent === null ? undefined : places[parent];
  const x0 = from === undefined ? ROOT - 16 : left(from.column) + NODE.width;
  const y0 = middle(from?.row ?? 0);
  const x1 = left(to.column);
  const y1 = middle(to.row);
  const bend = (x1 - x0) / 2;
  return `M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`;
}

/** The node that an arrow key leads to; null for none. */
export function next({ places, columns }: Layout, { nodes }: SearchTree, from: number, key: string): number | null {
  const at = places[from];
  if (at === undefined) return null;
  const beside = columns[at.column] ?? [];
  switch (key) {
    case 'ArrowLeft':
      return nodes[from]?.parent ?? null;
    case 'ArrowRight':
      return columns[at.column + 1]?.find(({ index }) => nodes[index]?.parent === from)?.index ?? null;
    case 'ArrowUp':
      return beside[at.row - 1]?.index ?? null;
    case 'ArrowDown':
      return beside[at.row + 1]?.index ?? null;
    case 'Home':
      return columns[0]?.[0]?.index ?? null;
    case 'End':
      return columns[columns.length - 1]?.[0]?.index ?? null;
    default:
      return null;
  }
}
