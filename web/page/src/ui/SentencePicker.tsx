import { views } from '../translation/live.ts';
import { selected, step } from '../translation/selection.ts';
import { useLast } from './hooks.ts';
import { BackIcon, NextIcon } from './icons.tsx';
import { t } from '../texts/texts.ts';

/** Steps through the sentences of a text; hidden for a single sentence. */
export function SentencePicker() {
  const now = useLast(selected.value);
  if (views.value.length === 0 || now === null || now.count < 2) return null;
  return (
    <div class="stepper" role="group" aria-label={t('Sentence')}>
      <button
        type="button"
        class="icon-button"
        aria-label={t('Sentence before')}
        disabled={now.number === 0}
        onClick={() => step(-1)}
      >
        <BackIcon />
      </button>
      <span class="number">
        <span class="sr-only">{t('Sentence')}{' '}</span>
        {t('{number} of {count}', { number: now.number + 1, count: now.count })}
      </span>
      <button
        type="button"
        class="icon-button"
        aria-label={t('Next sentence')}
        disabled={now.number >= now.count - 1}
        onClick={() => step(1)}
      >
        <NextIcon />
      </button>
    </div>
  );
}
