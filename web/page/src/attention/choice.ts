/** The chosen part of a trace and its view: chosen by the user, or by a link. */
import { batch, effect, signal } from '@preact/signals';
import type { AttentionKind, ColourMap, Scale } from 'wordloom';

export type Pick = number | 'mean';
export type Look = 'heads' | 'map' | 'lines' | 'numbers' | 'microscope' | 'positions';

export const KINDS: readonly { value: AttentionKind; label: string }[] = [
  { value: 'encoder', label: 'Encoder' },
  { value: 'decoder', label: 'Decoder' },
  { value: 'cross', label: 'Cross' },
];
export const LOOKS: readonly { value: Look; label: string }[] = [
  { value: 'heads', label: 'All heads' },
  { value: 'map', label: 'Map' },
  { value: 'lines', label: 'Lines' },
  { value: 'numbers', label: 'Numbers' },
  { value: 'microscope', label: 'Microscope' },
  { value: 'positions', label: 'Positions' },
];
export const COLOURS: readonly { value: ColourMap; label: string }[] = [
  { value: 'viridis', label: 'Viridis' },
  { value: 'cividis', label: 'Cividis, for the colour-blind' },
  { value: 'magma', label: 'Magma' },
  { value: 'greys', label: 'Greys' },
];
export const SCALES: readonly { value: Scale; label: string }[] = [
  { value: 'linear', label: 'Linear' },
  { value: 'logarithmic', label: 'Logarithmic' },
  { value: 'rows', label: 'Row by row' },
];

export const kind = signal<AttentionKind>('cross');
export const layer = signal<Pick>('mean');
export const head = signal<Pick>('mean');
export const look = signal<Look>('map');

/** The cell, or (without a column) the row under the pointer. */
export interface Cell {
  readonly row: number;
  readonly column: number | null;
}
export const cell = signal<Cell | null>(null);
/** The last row under the pointer, which the microscope looks at. */
export const row = signal(0);
effect(() => {
  if (cell.value !== null) row.value = cell.value.row;
});
/** Number of rows shown so far by the player; null: all. */
export const step = signal<number | null>(null);

/** Opens one head, as a click in the overview. */
export function open(which: { layer: Pick; head: Pick }, as: Look = 'map'): void {
  batch(() => {
    layer.value = which.layer;
    head.value = which.head;
    look.value = as;
  });
}
