/**
 * A link to a text and its view: attention, search, muted heads, swapped attention, switched parts. It is behind the `#`, which browsers never send, so the text
 * stays on this device. A link is untrusted: only values that the page itself can produce are accepted.
 */
import { batch, effect, signal, untracked } from '@preact/signals';
import type { HeadName } from 'wordloom';

import * as viewer from './attention/choice.ts';
import type { Pick } from './attention/choice.ts';
import { running } from './engine/load.ts';
import { muted, muteOnly } from './muting/muted.ts';
import { swapOnly, swappedText } from './swapping/swapped.ts';
import { switchOnly, switched } from './switching/switched.ts';
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

/** The longest link; mail programs and chats truncate longer ones. */
const MOST_CHARACTERS = 8000;
const MOST_LAYERS = 1024;
const MOST_SENTENCES = 9999;
const HEAD = /^(encoder|decoder|cross)\.\d{1,4}\.\d{1,4}$/;
const TOKEN = /^\d{1,9}$/;

/** A link to the current text and view; null if it is too long. */
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
    attention: swappedText.peek() === '' ? null : swappedText.peek(),
    switches: listed(switched.peek()),
    // empty: the panel is open without a forced beginning
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

/** Applies the address, now and when another link is opened in this tab. */
export function followPermalinks(): void {
  let linked = apply();
  // muting needs a model, and selecting a sentence needs its translation
  effect(() => {
    const wanted = wantedChange.value;
    if (running.value === null || wanted === null) return;
    wantedChange.value = null;
    untracked(() => {
      muteOnly(wanted.muted);
      swapOnly(wanted.attention);
      switchOnly(wanted.switches);
    });
  });
  effect(() => {
    const [wanted, now] = [wantedPlace.value, selected.value];
    // the translation may still be of the previous text
    if (wanted === null || now === null || !text.peek().includes(now.source.source)) return;
    if (now.number !== wanted.sentence) return untracked(() => selectNumber(wanted.sentence));
    wantedPlace.value = null;
    if (wanted.prefix.length > 0) untracked(() => forceTokens(now.source.source, wanted.prefix));
  });
  // clear the address when the text changes
  effect(() => {
    const now = text.value;
    if (linked === null || linked === now) return;
    linked = null;
    wantedPlace.value = null;
    history.replaceState(null, '', location.pathname + location.search);
  });
}

/** A link's muted heads, swapped attention and switched parts, until a model is loaded. */
const wantedChange = signal<{ muted: readonly HeadName[]; attention: string; switches: string } | null>(null);
const wantedPlace = signal<{ sentence: number; prefix: readonly number[] } | null>(null);

/** Applies the link. Returns its text; null if the address is not a link. */
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
    // languages that the model does not have are ignored later
    if (link.has('from')) sourceLanguage.value = link.get('from');
    if (link.has('to')) targetLanguage.value = link.get('to');
    wantedChange.value = {
      muted: each(link.get('muted'), HEAD) as HeadName[],
      attention: link.get('attention') ?? '',
      switches: (link.get('switches') ?? '').replaceAll(' ', ','),
    };
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

/** Names or numbers separated by spaces; null if there are none. */
function listed(names: readonly string[]): string | null {
  return names.length === 0 ? null : names.join(' ');
}

/** The valid items of a list. */
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
