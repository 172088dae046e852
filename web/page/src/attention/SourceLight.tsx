/** Highlights in the source text. A text field has no highlights, so a copy of its text lies beneath it. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { RefObject } from 'preact';

import { showAttention, text } from '../settings.ts';
import { selected, sourceStart } from '../translation/selection.ts';
import { lit } from './lit.ts';
import { mapIsOfSelected } from './traces.ts';
import { Marked } from './TraceTexts.tsx';

/** Limit of characters, because every move of the pointer lays them out. */
const MOST_CHARACTERS = 20_000;

export function SourceLight({ field, size }: { field: RefObject<HTMLTextAreaElement | null>; size: string }) {
  const copy = useRef<HTMLDivElement>(null);
  const now = selected.value;
  const spans = lit.value.source;
  const whole = text.value;
  const start = now === null ? -1 : sourceStart(now, whole);
  const hidden =
    !showAttention.value ||
    !mapIsOfSelected.value ||
    spans.length === 0 ||
    start < 0 ||
    whole.length > MOST_CHARACTERS;
  useLayoutEffect(() => {
    const [from, to] = [field.current, copy.current];
    if (from === null || to === null) return undefined;
    const follow = (): void => {
      to.scrollTop = from.scrollTop;
    };
    follow();
    from.addEventListener('scroll', follow, { passive: true });
    return () => from.removeEventListener('scroll', follow);
  }, [hidden]);
  if (hidden) return null;
  const moved = spans.map((span) => ({ ...span, start: span.start + start, end: span.end + start }));
  return (
    <div class={`text text--light ${size}`} ref={copy} dir="auto" aria-hidden="true" data-testid="source-light">
      <Marked text={whole} spans={moved} />
    </div>
  );
}
