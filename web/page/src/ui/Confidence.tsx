/** The probability of each token: an underline that is stronger for less probable tokens, and the number. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Hypothesis } from 'wordloom';

import { tokenSpans } from '../translation/tokens.ts';
import { t, told } from '../texts/texts.ts';

/** Lower bounds of the levels, most probable first. They differ in pattern and strength, not in hue. */
const LEVELS = [
  { from: 0.9, name: 'sure', words: '90 % and more' },
  { from: 0.7, name: 'likely', words: '70 to 90 %' },
  { from: 0.4, name: 'open', words: '40 to 70 %' },
  { from: 0, name: 'guess', words: 'under 40 %' },
] as const;

export function Tokens({ hypothesis }: { hypothesis: Hypothesis }) {
  const spans = useMemo(() => tokenSpans(hypothesis), [hypothesis]);
  return (
    <>
      {spans.map(({ text, probability }, index) => {
        if (probability === null) return text;
        const space = /^\s*/u.exec(text)?.[0] ?? '';
        const percent = percentOf(probability);
        return (
          <>
            {space}
            <span
              class={`token token--${levelOf(probability)}`}
              data-percent={percent}
              tabIndex={-1}
              key={index}
            >
              {text.slice(space.length)}
              <span class="sr-only token__words"> ({percent}) </span>
            </span>
          </>
        );
      })}
    </>
  );
}

export function ConfidenceLegend() {
  return (
    <ul class="levels quiet" aria-label={t('Probability of each token')}>
      {LEVELS.map(({ name, words }) => (
        <li key={name}>
          <span class={`token token--${name}`} aria-hidden="true">
            ab
          </span>{' '}
          {told(words)}
        </li>
      ))}
    </ul>
  );
}

/** A label for the token under the pointer or the arrow keys. */
export function useTokenTip() {
  const [token, setToken] = useState<HTMLElement | null>(null);
  const [, setMoved] = useState(0);
  const show = ({ target }: Event): void => setToken((target as Element).closest<HTMLElement>('.token'));
  useEffect(() => {
    if (token === null) return;
    const move = (): void => setMoved((count) => count + 1);
    window.addEventListener('scroll', move, { capture: true, passive: true });
    return () => window.removeEventListener('scroll', move, { capture: true });
  }, [token]);
  const handlers = {
    onPointerOver: show,
    onPointerLeave: () => setToken(null),
    onFocusIn: show,
    onFocusOut: () => setToken(null),
    onKeyDown: (event: KeyboardEvent) => {
      const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
      if (by === 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const tokens = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.token')];
      const now = tokens.indexOf(event.target as HTMLElement);
      const next = tokens[now < 0 ? 0 : Math.max(0, Math.min(tokens.length - 1, now + by))];
      if (next === undefined) return;
      event.preventDefault();
      next.focus();
    },
  };
  // a token of an older translation is not on the page
  const box = token?.isConnected ? (token.getClientRects()[0] ?? null) : null;
  const element = box !== null && (
    <span
      class="tip number"
      aria-hidden="true"
      style={{ '--left': `${box.left + box.width / 2}px`, '--top': `${box.top}px` }}
    >
      {token?.dataset['percent']}
    </span>
  );
  return { handlers, element };
}

function levelOf(probability: number): string {
  return LEVELS.find(({ from }) => probability >= from)?.name ?? 'guess';
}

function percentOf(probability: number): string {
  const percent = 100 * probability;
  return `${percent < 10 || percent >= 99.5 ? percent.toFixed(1) : Math.round(percent)} %`;
}
