/** A message as a sentence: a capital in front, unless it begins with an address or a name; a full stop behind. */
export function sentence(words: string): string {
  const whole = /^[a-z]+[ ,]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}
