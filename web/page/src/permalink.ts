/**
 * A link to a text and a view of it: its attention, its search, the heads that are muted. It stands behind the `#`, which browsers never send: the text stays on
 * this device. Whoever made the link may have written anything into it, so only what the page itself could hold is taken.
 */
import { batch, effect, signal, untracked } from '@preact/signals';
import type { HeadName } from 'wordloom';

import * as viewer from './attention/choice.ts';
import type { Pick } from './attention/choice.ts';
import { running } from './engine/load.ts';
import { muted, muteOnly } from './muting/muted.ts';
import { forceTokens, penalty, PENALTIES, prefixNow } from './search/searches.ts';
import {
  beams,
  mapColours,
  mapScale,
  MAX_BEAMS,
  showAttention,
  showSearch,
  sourceLanguage,
  targetLanguage,
  text,
} from './settings.ts';
import { direction } from './translation/direction.ts';
import { searchBeams } from './translation/live.ts';
import { selected, selectNumber } from './translation/selection.ts';

/** Longer links are cut off by what they are sent with. */
const MOST_CHARACTERS = 8000;
const MOST_LAYERS = 1024;
const MOST_SENTENCES = 9999;
const HEAD = /^(encoder|decoder|cross)\.\d{1,4}\.\d{1,4}$/;
const TOKEN = /^\d{1,9}$/;

/** The text and the view as they are; null: too long. */
export function permalink(): string | null {
  const { source, target } = direction.peek();
  const sentence = selected.peek()?.number ?? 0;
  const entries: Record<string, string | null> = {
    text: text.peek(),
    from: source,
    to: target,
    beams: String(searchBeams.peek()),
    sentence: sentence > 0 ? String(sentence + 1) : null,
    muted: listed(muted.peek()),
    // open, and with a beginning that was forced
    search: showSearch.peek() ? prefixNow.peek().join(' ') : null,
    penalty: showSearch.peek() && penalty.peek() !== null ? String(penalty.peek()) : null,
    kind: viewer.kind.peek(),
    layer: numbered(viewer.layer.peek()),
    head: numbered(viewer.head.peek()),
    view: viewer.look.peek(),
    colours: mapColours.peek(),
    scale: mapScale.peek(),
  };
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(entries)) if (value !== null) parameters.set(name, value);
  const words = parameters.toString();
  if (words.length > MOST_CHARACTERS) return null;
  return `${location.origin}${location.pathname}${location.search}#${words}`;
}

/** Shows what the address asks for, now and when another link is opened in this tab. */
export function followPermalinks(): void {
  let linked = apply();
  // muting takes a model, and selecting a sentence takes its translation
  effect(() => {
    const heads = wantedMuted.value;
    if (running.value === null || heads === null) return;
    wantedMuted.value = null;
    untracked(() => muteOnly(heads));
  });
  effect(() => {
    const [wanted, now] = [wantedPlace.value, selected.value];
    // what is translated may still be the text before
    if (wanted === null || now === null || !text.peek().includes(now.source.source)) return;
    if (now.number !== wanted.sentence) return untracked(() => selectNumber(wanted.sentence));
    wantedPlace.value = null;
    if (wanted.prefix.length > 0) untracked(() => forceTokens(now.source.source, wanted.prefix));
  });
  // a link says what it said; another text is no longer it
  effect(() => {
    const now = text.value;
    if (linked === null || linked === now) return;
    linked = null;
    wantedPlace.value = null;
    history.replaceState(null, '', location.pathname + location.search);
  });
}

/** What a link asks for that is not there yet. */
const wantedMuted = signal<readonly HeadName[] | null>(null);
const wantedPlace = signal<{ sentence: number; prefix: readonly number[] } | null>(null);

/** The text that the link holds; null: the address is none. */
function apply(): string | null {
  const link = new URLSearchParams(location.hash.slice(1));
  const linked = link.get('text');
  if (linked === null || linked.length > MOST_CHARACTERS) return null;
  const among = <T extends string>(name: string, options: readonly { readonly value: T }[], into: { value: T }) => {
    const found = options.find(({ value }) => value === link.get(name));
    if (found !== undefined) into.value = found.value;
  };
  batch(() => {
    text.value = linked;
    const count = whole(link.get('beams'), MAX_BEAMS);
    if (count !== null) beams.value = count;
    // languages that the model does not have are passed over where it is asked
    if (link.has('from')) sourceLanguage.value = link.get('from');
    if (link.has('to')) targetLanguage.value = link.get('to');
    wantedMuted.value = each(link.get('muted'), HEAD) as HeadName[];
    const sentence = (whole(link.get('sentence'), MOST_SENTENCES) ?? 1) - 1;
    wantedPlace.value = { sentence, prefix: each(link.get('search'), TOKEN).map(Number) };
    if (link.has('search')) showSearch.value = true;
    const power = Number(link.get('penalty') ?? NaN);
    penalty.value = power >= PENALTIES.least && power <= PENALTIES.most ? power : null;
    if (!link.has('view')) return;
    showAttention.value = true;
    among('kind', viewer.KINDS, viewer.kind);
    among('view', viewer.LOOKS, viewer.look);
    among('colours', viewer.COLOURS, mapColours);
    among('scale', viewer.SCALES, mapScale);
    viewer.layer.value = picked(link.get('layer'));
    viewer.head.value = picked(link.get('head'));
  });
  return linked;
}

/** Names or numbers with spaces between; null: none. */
function listed(names: readonly string[]): string | null {
  return names.length === 0 ? null : names.join(' ');
}

/** Those that are what they should be. */
function each(list: string | null, pattern: RegExp): string[] {
  return (list ?? '').split(' ').filter((name) => pattern.test(name));
}

/** Counted from 1, as on the page. */
function numbered(pick: Pick): string {
  return pick === 'mean' ? 'mean' : String(pick + 1);
}

function picked(value: string | null): Pick {
  const number = whole(value, MOST_LAYERS);
  return number === null ? 'mean' : number - 1;
}

function whole(value: string | null, most: number): number | null {
  const number = /^\d{1,4}$/.test(value ?? '') ? Number(value) : 0;
  return number >= 1 && number <= most ? number : null;
}
