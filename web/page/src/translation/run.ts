/** One pass over a text: known passages are reused; the others are translated in groups and shown while they grow. */
import type { Sentence, TranslateOptions, Translator } from 'wordloom';

import type { Passage, Translated } from './passages.ts';
import { cut, deal, group, isBlank, whole } from './passages.ts';
import type { View } from './views.ts';
import { blankView, doneView, matchOld, viewText, waitingView } from './views.ts';

/** Characters in the first call, which is short to show text soon, and in later calls. */
const FIRST_GROUP = 600;
const NEXT_GROUPS = 2400;

export interface Work {
  readonly translator: Translator;
  /** Translates lines into the language that the translator reads, if that is not the text's. */
  readonly before: ((lines: readonly string[], signal: AbortSignal) => Promise<string[]>) | null;
  readonly text: string;
  readonly options: TranslateOptions;
  readonly signal: AbortSignal;
  /** Earlier translations under the same options. */
  readonly known: Map<string, Translated>;
  readonly shown: readonly View[];
  /** Reports new views; `done` of `total` characters are translated. `reading`: part of a long text that is read so far. */
  show(views: readonly View[], done: number, total: number, reading: number | null): void;
}

export interface Outcome {
  /** Source tokens at the end of a document that the model does not take. */
  readonly leftOut: number;
  readonly tokens: number;
  readonly milliseconds: number;
}

interface Missing {
  readonly source: string;
  readonly places: number[];
}

export async function runTranslation(work: Work): Promise<Outcome> {
  const { tag, passages } = work.options.document ? whole(work.text) : cut(work.text);
  const key = (passage: Passage): string => keyOf(tag, passage.source);
  const old = matchOld(work.shown, passages);
  const missing = new Map<string, Missing>();
  let leftOut = 0;
  const views = passages.map((passage, index) => {
    if (isBlank(passage)) return reuse(old[index], blankView(passage));
    const translated = work.known.get(key(passage));
    if (translated !== undefined) {
      leftOut = translated.leftOut ?? 0;
      return reuse(old[index], doneView(passage, translated));
    }
    const entry = missing.get(passage.source);
    if (entry === undefined) missing.set(passage.source, { source: passage.source, places: [index] });
    else entry.places.push(index);
    const before = old[index];
    return waitingView(passage, before === undefined ? '' : viewText(before));
  });

  const groups = group([...missing.values()], FIRST_GROUP, NEXT_GROUPS);
  const total = [...missing.values()].reduce((sum, { source }) => sum + source.length, 0);
  let done = 0;
  let tokens = 0;
  let milliseconds = 0;
  const show = (reading: number | null = null): void => work.show([...views], done, total, reading);
  show();

  for (const members of groups) {
    const own = members.map(({ source }) => source);
    const sources = work.before === null ? own : await work.before(own, work.signal);
    if (work.signal.aborted) return { tokens, milliseconds, leftOut };
    const joined = (tag === '' ? '' : `${tag} `) + sources.join('\n');
    for await (const partial of work.translator.translateStreaming(joined, {
      ...work.options,
      signal: work.signal,
    })) {
      if (work.signal.aborted) return { tokens, milliseconds, leftOut };
      const finished = partial.translation;
      if (finished !== undefined) {
        leftOut = finished.leftOut ?? 0;
        settle(members, sources, finished.sentences);
        tokens += finished.stats.tokens;
        milliseconds += finished.stats.milliseconds;
      } else {
        grow(members, partial.stable, partial.provisional);
      }
      show(finished === undefined ? (partial.encoding ?? null) : null);
    }
  }
  return { tokens, milliseconds, leftOut };

  function settle(
    members: readonly Missing[],
    sources: readonly string[],
    sentences: readonly Sentence[],
  ): void {
    const parts = deal(sources, sentences);
    members.forEach(({ source, places }, index) => {
      const part = parts[index];
      if (part === undefined) return;
      const translated = leftOut === 0 ? part : { ...part, leftOut };
      for (const place of places) {
        const passage = passages[place];
        if (passage === undefined) continue;
        work.known.set(key(passage), translated);
        views[place] = doneView(passage, translated);
      }
      done += source.length;
    });
  }

  /** Assigns lines of the unfinished translation to passages, because line breaks are those of the source. */
  function grow(members: readonly Missing[], stable: string, provisional: string): void {
    // a summary has line breaks of its own
    const lines = (text: string): string[] => (members.length === 1 ? [text] : text.split('\n'));
    const solid = lines(stable);
    const rest = lines(provisional);
    members.forEach(({ places }, index) => {
      const own = { stable: solid[index] ?? '', provisional: rest[index - solid.length + 1] ?? '' };
      for (const place of places) {
        const view = views[place];
        if (view === undefined || (view.stable === own.stable && view.provisional === own.provisional))
          continue;
        views[place] = { ...view, ...own };
      }
    });
  }
}

/** The cache key of a translation. */
export function keyOf(tag: string, source: string): string {
  return `${tag}\n${source}`;
}

/** The old view if it is equal, so that it is not drawn again. */
function reuse(old: View | undefined, fresh: View): View {
  if (old === undefined || old.passage.end !== fresh.passage.end) return fresh;
  if (old.passage.source !== fresh.passage.source) return fresh;
  const blank = fresh.translated?.sentences.length === 0 && old.translated?.sentences.length === 0;
  return blank || old.translated === fresh.translated ? old : fresh;
}
