/** The current view as a table for spreadsheets. */
import type { HeadStatistics } from 'wordloom';

import { keysOf, labelOf, queriesOf } from './labels.ts';
import type { MapOnShow } from './traces.ts';

/** Rows are queries, columns are keys. */
export function mapTable(map: MapOnShow): string {
  const keys = keysOf(map.shown.sentence, map.kind).map(labelOf);
  const rows = queriesOf(map.shown.sentence, map.kind).map((query, row) => {
    const weights = map.weights.subarray(row * map.shape[1], (row + 1) * map.shape[1]);
    return [quoted(labelOf(query)), ...Array.from(weights, String)].join(',');
  });
  return csv([['""', ...keys.map(quoted)].join(','), ...rows]);
}

/** Layers and heads count from 1, as on the page. */
export function numbersTable(heads: readonly HeadStatistics[]): string {
  // a curve is no cell
  const names = (Object.keys(heads[0] ?? {}) as (keyof HeadStatistics)[]).filter((name) => name !== 'spectrum');
  const rows = heads.map((one) =>
    names
      .map((name) => {
        const value = one[name];
        if (typeof value === 'string') return quoted(value);
        return String(name === 'layer' || name === 'head' ? value + 1 : value);
      })
      .join(','),
  );
  return csv([names.join(','), ...rows]);
}

export function positionsTable(values: Float32Array, width: number): string {
  const rows = Array.from({ length: values.length / width }, (_, row) =>
    Array.from(values.subarray(row * width, (row + 1) * width), String).join(','),
  );
  return csv(rows);
}

function csv(lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n`;
}

/** Adds an apostrophe to text that a spreadsheet would run as a formula. */
function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
