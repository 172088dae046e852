/**
 * A link to a text and a view of its attention. It stands behind the `#`, which browsers never send: the text stays on
 * this device. Whoever made the link may have written anything into it, so only what the page itself could hold is taken.
 */
import { batch, effect } from '@preact/signals';

import * as viewer from './attention/choice.ts';
import type { Pick } from './attention/choice.ts';
import {
  beams,
  mapColours,
  mapScale,
  MAX_BEAMS,
  showAttention,
  sourceLanguage,
  targetLanguage,
  text,
} from './settings.ts';
import { direction } from './translation/direction.ts';
import { searchBeams } from './translation/live.ts';

/** Longer links are cut off by what they are sent with. */
const MOST_CHARACTERS = 8000;
const MOST_LAYERS = 1024;

/** The text and the view as they are; null: too long. */
export function permalink(): string | null {
  const { source, target } = direction.peek();
  const entries: Record<string, string | null> = {
    text: text.peek(),
    from: source,
    to: target,
    beams: String(searchBeams.peek()),
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
  window.addEventListener('hashchange', () => (linked = apply()));
  // a link says what it said; another text is no longer it
  effect(() => {
    const now = text.value;
    if (linked === null || linked === now) return;
    linked = null;
    history.replaceState(null, '', location.pathname + location.search);
  });
}

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
