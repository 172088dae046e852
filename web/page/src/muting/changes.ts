/** The changed words of a text: those outside the longest common subsequence. */

export interface Part {
  readonly text: string;
  readonly changed: boolean;
}

/** Limit of compared words; a sentence has fewer. */
const MOST_WORDS = 600;

const segmenter = 'Segmenter' in Intl ? new Intl.Segmenter(undefined, { granularity: 'word' }) : null;

function wordsOf(text: string): string[] {
  if (segmenter === null) return text.split(/(?<=\s)|(?=\s)/u);
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

export function changes(now: string, before: string): Part[] {
  const [words, old] = [wordsOf(now), wordsOf(before)];
  if (now === before) return [{ text: now, changed: false }];
  if (words.length > MOST_WORDS || old.length > MOST_WORDS) return [{ text: now, changed: true }];
  const wide = old.length + 1;
  const common = new Uint16Array((words.length + 1) * wide);
  for (let i = words.length - 1; i >= 0; i -= 1) {
    for (let j = old.length - 1; j >= 0; j -= 1) {
      const same = words[i] === old[j];
      const rest = Math.max(common[(i + 1) * wide + j] ?? 0, common[i * wide + j + 1] ?? 0);
      common[i * wide + j] = same ? (common[(i + 1) * wide + j + 1] ?? 0) + 1 : rest;
    }
  }
  const parts: { text: string; changed: boolean }[] = [];
  let j = 0;
  words.forEach((word, i) => {
    let from = j;
    while (from < old.length && old[from] !== word) from += 1;
    // keep the word if that is no worse
    const kept =
      from < old.length && 1 + (common[(i + 1) * wide + from + 1] ?? 0) >= (common[i * wide + j] ?? 0);
    if (kept) j = from + 1;
    const last = parts[parts.length - 1];
    const changed = !kept && (word.trim() !== '' || last?.changed === true);
    if (last?.changed === changed) last.text += word;
    else parts.push({ text: word, changed });
  });
  return parts;
}
