/** The lines between tokens, joined into one path for each shade. */
import type { Cell } from './choice.ts';
import type { MapOnShow } from './traces.ts';

/** Tokens on one side up to which all lines are drawn; beyond, only the strongest. */
export const FEW_TOKENS = 80;
const MOST_LINES = 2400;
const SHADES = 12;
/** The smallest visible weight. */
const FAINT = 0.01;

export interface Bundle {
  readonly paths: readonly { readonly d: string; readonly opacity: number }[];
  /** The smallest drawn weight. */
  readonly threshold: number;
}

export interface Placing {
  /** The vertical middle of a token's line. */
  y(index: number): number;
  readonly left: number;
  readonly right: number;
}

/** `rows`: number of the map's rows to draw; `at`: draw only the lines of this token. */
export function bundle(map: MapOnShow, { y, left, right }: Placing, rows: number, at: Cell | null): Bundle {
  const [, columns] = map.shape;
  const chosen = (index: number): boolean =>
    at === null || Math.floor(index / columns) === at.row || (at.row < 0 && index % columns === at.column);
  const weights = map.weights.subarray(0, Math.min(rows, map.shape[0]) * columns);
  const threshold = at === null ? thresholdOf(weights, Math.max(columns, map.shape[0])) : FAINT;
  const drawn: string[][] = Array.from({ length: SHADES }, () => []);
  const middle = (left + right) / 2;
  weights.forEach((weight, index) => {
    if (weight < threshold || !chosen(index)) return;
    const [from, to] = [y(Math.floor(index / columns)), y(index % columns)];
    const shade = Math.min(SHADES - 1, Math.floor(weight * SHADES));
    drawn[shade]?.push(`M${left} ${from}C${middle} ${from} ${middle} ${to} ${right} ${to}`);
  });
  const paths = drawn.map((parts, shade) => ({ d: parts.join(''), opacity: (shade + 0.6) / SHADES }));
  return { paths: paths.filter(({ d }) => d !== ''), threshold };
}

/** A threshold that limits the number of lines. */
function thresholdOf(weights: Float32Array, tokens: number): number {
  let threshold = tokens > FEW_TOKENS ? 0.05 : FAINT;
  const count = (): number => weights.reduce((sum, weight) => sum + (weight >= threshold ? 1 : 0), 0);
  while (count() > MOST_LINES) threshold *= 1.5;
  return threshold;
}
