import { views } from '../translation/live.ts';
import { selected, step } from '../translation/selection.ts';
import { useLast } from './hooks.ts';
import { BackIcon, NextIcon } from './icons.tsx';

/** Steps through the sentences of a text; hidden for a single sentence. */
export function SentencePicker() {
  const now = useLast(selected.value);
  if (views.value.length === 0 || now === null || now.count < 2) return null;
  return (
    <div class="stepper" role="group" aria-label="Sentence">
      <button
        type="button"
        class="icon-button"
        aria-label="Sentence before"
        disabled={now.number === 0}
        onClick={() => step(-1)}
      >
        <BackIcon />
      </button>
      <span class="number">
        <span class="sr-only">Sentence </span>
        {now.number + 1} of {now.count}
      </span>
      <button
        type="button"
        class="icon-button"
        aria-label="Next sentence"
        disabled={now.number >= now.count - 1}
        onClick={() => step(1)}
      >
        <NextIcon />
      </button>
    </div>
  );
}
