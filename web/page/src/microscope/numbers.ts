/** How numbers are written. */

/** A number in a few characters, with a true minus sign. */
export function written(value: number): string {
  if (value === -Infinity) return '−∞';
  const size = Math.abs(value);
  const text = size === 0 ? '0' : size >= 0.0005 && size < 10_000 ? value.toFixed(4) : value.toExponential(2);
  return text.replaceAll('-', '−');
}

export function shareOf(value: number): string {
  return `${(100 * value).toFixed(value >= 0.1 ? 0 : 1)} %`;
}

/** Index of the largest value; −1 without values. */
export function largest(values: ArrayLike<number>): number {
  let best = values.length === 0 ? -1 : 0;
  for (let at = 1; at < values.length; at += 1) if (values[at]! > values[best]!) best = at;
  return best;
}

/** Euclidean length. */
export function lengthOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let at = 0; at < values.length; at += 1) sum += values[at]! ** 2;
  return Math.sqrt(sum);
}

/** Smallest and largest finite value. */
export function spread(values: ArrayLike<number>): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at]!;
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return least > most ? [0, 0] : [least, most];
}
