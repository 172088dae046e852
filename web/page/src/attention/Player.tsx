/** Plays a translation: its rows appear token by token. */
import { useEffect, useState } from 'preact/hooks';

import { PauseIcon, PlayIcon } from '../ui/icons.tsx';
import { cell, step } from './choice.ts';
import { labelOf, queriesOf } from './labels.ts';
import { kindOnShow } from './traces.ts';
import type { Shown } from './traces.ts';
import { t } from '../texts/texts.ts';

const SPEEDS = [0.5, 1, 2, 4] as const;
/** Milliseconds between two tokens at speed 1. */
const PACE = 600;

export function Player({ shown }: { shown: Shown }) {
  const of = kindOnShow.value;
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<number>(1);
  const count = of === null || of.kind === 'encoder' ? 0 : of.queries;
  const now = Math.min(step.value ?? count, count);

  useEffect(() => {
    setPlaying(false);
  }, [shown, of?.kind]);
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => {
      const next = (step.peek() ?? 0) + 1;
      step.value = Math.min(next, count);
      if (next >= count) setPlaying(false);
    }, PACE / speed);
    return () => clearInterval(timer);
  }, [playing, speed, count]);
  if (count === 0) return null;

  const toggle = (): void => {
    cell.value = null;
    if (!playing && now >= count) step.value = 0;
    else if (!playing) step.value = now;
    setPlaying(!playing);
  };
  const queries = queriesOf(shown.sentence, of?.kind ?? 'cross');
  const written = now === 0 ? t('nothing is written yet') : labelOf(queries[now - 1]);
  return (
    <div class="player" role="group" aria-label={t('Play the translation')}>
      <button
        type="button"
        class="icon-button"
        aria-label={playing ? t('Pause') : t('Play')}
        title={playing ? t('Pause') : t('Play: the rows appear as the translation was written')}
        onClick={toggle}
      >
        {playing ? <PauseIcon /> : <PlayIcon />}
      </button>
      <input
        type="range"
        min={0}
        max={count}
        value={now}
        aria-label={t('Tokens written')}
        aria-valuetext={`${now} of ${count}: ${written}`}
        onInput={(event) => {
          const to = Number(event.currentTarget.value);
          setPlaying(false);
          cell.value = null;
          step.value = to >= count ? null : to;
        }}
      />
      <span class="quiet number player__count">
        {t('{number} of {count}', { number: now, count })}
      </span>
      <label class="player__speed">
        <span class="sr-only">{t('Speed')}</span>
        <select value={speed} onChange={(event) => setSpeed(Number(event.currentTarget.value))}>
          {SPEEDS.map((value) => (
            <option value={value} key={value}>
              {value}×
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
