/** The views of a text: one immutable view per passage. */
import type { Passage, Translated } from './passages.ts';
import { translatedText } from './passages.ts';
import { oldTail } from './overlay.ts';

export interface View {
  readonly passage: Passage;
  /** The complete translation. */
  readonly translated: Translated | null;
  /** The unfinished translation: the final part, and the part that may change. */
  readonly stable: string;
  readonly provisional: string;
  /** The previous translation, until the new one is as long. */
  readonly old: string;
}

export function blankView(passage: Passage): View {
  const translated = { between: [passage.source], sentences: [], chosen: [] };
  return { passage, translated, stable: '', provisional: '', old: '' };
}

export function doneView(passage: Passage, translated: Translated): View {
  return { passage, translated, stable: '', provisional: '', old: '' };
}

export function waitingView(passage: Passage, old: string): View {
  return { passage, translated: null, stable: '', provisional: '', old };
}

/** The whole text of a view. */
export function viewText(view: View): string {
  if (view.translated !== null) return translatedText(view.translated);
  const fresh = view.stable + view.provisional;
  return fresh + oldTail(fresh, view.old);
}

/** The old view of each passage: passages before and after a change keep theirs. */
export function matchOld(old: readonly View[], passages: readonly Passage[]): (View | undefined)[] {
  const shared = Math.min(old.length, passages.length);
  let before = 0;
  while (before < shared && same(old[before], passages[before])) before += 1;
  let after = 0;
  while (after < shared - before && same(old[old.length - 1 - after], passages[passages.length - 1 - after]))
    after += 1;
  return passages.map((_, index) => {
    const fromEnd = passages.length - index;
    if (fromEnd <= after) return old[old.length - fromEnd];
    return index < old.length - after ? old[index] : undefined;
  });
}

function same(view: View | undefined, passage: Passage | undefined): boolean {
  return view?.passage.source === passage?.source && view?.passage.end === passage?.end;
}
