/** A message as a sentence: with a capital, unless it begins with an address or a name, and a full stop. */
export function sentence(words: string): string {
  const whole = /^[a-z]+[ ,]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}
