/** The words of the old translation after new, unfinished text. */

const WORD = /\S+\s*/gu;

export function oldTail(fresh: string, old: string): string {
  if (old === '' || fresh.length >= old.length) return '';
  const words = fresh.match(WORD)?.length ?? 0;
  let position = 0;
  let count = 0;
  for (const word of old.matchAll(WORD)) {
    if (count === words) break;
    position = word.index + word[0].length;
    count += 1;
  }
  const tail = count < words ? '' : old.slice(position);
  return tail === '' || fresh === '' || /\s$/u.test(fresh) ? tail : ` ${tail.trimStart()}`;
}
