/** The font size: short texts are larger. */
export function sizeClass(text: string): string {
  if (text.length <= 120 && !text.includes('\n\n')) return 'text--large';
  return text.length <= 600 ? 'text--medium' : 'text--small';
}
