/** A message as a sentence: with a capital, unless it begins with an address or a name, and a full stop. */
export function sentence(words: string): string {
  const whole = /^[a-z]+[ ,]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}

/** Numbers in words: `1, 2, 4–8`. */
export function runs(numbers: readonly number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts: [number, number][] = [];
  for (const number of sorted) {
    const last = parts[parts.length - 1];
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts
    .map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first}, ${last}` : `${first}–${last}`))
    .join(', ');
}
