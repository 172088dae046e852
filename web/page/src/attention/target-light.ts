/** Highlights in the translation, by the browser's own highlights, which do not change the text. */
import { effect, signal } from '@preact/signals';

import { selected } from '../translation/selection.ts';
import { showAttention, showConfidence } from '../settings.ts';
import { lit } from './lit.ts';
import type { Level, Span } from './lit.ts';
import { mapIsOfSelected } from './traces.ts';

const redrawn = signal(0);

const LEVELS: readonly Level[] = ['own', 'key', 1, 2, 3];

export function followLight(): void {
  // older browsers have no highlights
  if (!('highlights' in CSS)) return;
  // sentences far from the screen have no nodes, and get them again when scrolled to
  const changes = new MutationObserver(() => (redrawn.value += 1));
  let watched: Element | null = null;
  effect(() => {
    void redrawn.value;
    void showConfidence.value;
    const spans = showAttention.value && mapIsOfSelected.value ? lit.value.target : [];
    const now = selected.value;
    // wait until the new values are drawn
    const frame = requestAnimationFrame(() => {
      const output = document.querySelector('[data-testid=output]');
      if (output !== null && output !== watched) {
        changes.disconnect();
        changes.observe(output, { childList: true, characterData: true, subtree: true });
        watched = output;
      }
      const place = now === null ? '' : `[data-passage="${now.passage}"][data-sentence="${now.sentence}"]`;
      const sentence = spans.length === 0 ? null : (output?.querySelector(`.sentence${place}`) ?? null);
      paint(sentence, spans);
    });
    return () => cancelAnimationFrame(frame);
  });
}

function paint(sentence: Element | null, spans: readonly Span[]): void {
  for (const level of LEVELS) {
    const own = spans.filter((span) => span.level === level);
    const ranges = sentence === null ? [] : own.flatMap((span) => rangeOf(sentence, span) ?? []);
    if (ranges.length === 0) CSS.highlights.delete(`lit-${level}`);
    else CSS.highlights.set(`lit-${level}`, new Highlight(...ranges));
  }
}

/** The characters of a sentence as a range, without text for screen readers only. */
function rangeOf(sentence: Element, { start, end }: Span): Range | null {
  const walker = document.createTreeWalker(sentence, NodeFilter.SHOW_TEXT);
  const range = new Range();
  let at = 0;
  let begun = false;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node.parentElement?.classList.contains('sr-only')) continue;
    const length = node.nodeValue?.length ?? 0;
    if (!begun && start < at + length) {
      range.setStart(node, start - at);
      begun = true;
    }
    if (begun && end <= at + length) {
      range.setEnd(node, end - at);
      return range;
    }
    at += length;
  }
  return null;
}
