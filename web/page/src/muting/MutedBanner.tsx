/** Shows what differs from the trained model, and the sentence's translation without that. */
import { interventions } from '../interventions.ts';
import { describeSwaps, swapNone, swapped } from '../swapping/swapped.ts';
import { describeSwitches, switchNone, switched } from '../switching/switched.ts';
import { plainOf } from '../translation/live.ts';
import { selected } from '../translation/selection.ts';
import { describe, muted, unmuteAll } from './muted.ts';
import { t, tx } from '../texts/texts.ts';

export function MutedBanner() {
  if (interventions.value.length === 0) return null;
  const [heads, swaps, parts] = [muted.value, swapped.value, switched.value];
  const now = selected.value;
  const plain = now === null ? null : plainOf(now.passage, now.sentence);
  const only = swaps.size === 0 && parts.length === 0;
    return (
    <div class="notice muted" role="status">
      <div class="notice__words">
        {heads.length > 0 && (
          <p>
            <b>{t('Muted:')}</b> {describe(heads).join('; ')}.
          </p>
        )}
        {swaps.size > 0 && (
          <p>
            <b>{t('Swapped:')}</b> {describeSwaps(swaps).join('; ')}.
          </p>
        )}
        {parts.length > 0 && (
          <p>
            <b>{t('Switched:')}</b> {describeSwitches(parts).join('; ')}.
          </p>
        )}
        {now !== null && plain !== null && (
          <p class="quiet" dir="auto">
            {plain.text === now.hypothesis.text ? (
              t(
                only
                  ? 'The translation is the same with all heads, with a score of {now} instead of {before}.'
                  : 'The translation is the same as trained, with a score of {now} instead of {before}.',
                { now: score(now.hypothesis.score), before: score(plain.score) },
              )
            ) : (
              tx(
                only
                  ? 'With all heads: {text} Its score was {before}; now it is {now}.'
                  : 'As trained: {text} Its score was {before}; now it is {now}.',
                { text: <bdi>{plain.text}</bdi>, before: score(plain.score), now: score(now.hypothesis.score) },
              )
            )}
          </p>
        )}
      </div>
      <div class="notice__actions">
        {heads.length > 0 && (
          <button type="button" class="button" onClick={unmuteAll}>
            {t('All heads')}
          </button>
        )}
        {!only && (
          <button type="button" class="button" onClick={asTrained}>
            {t('As trained')}
          </button>
        )}
      </div>
    </div>
  );
}

/** Gives the model its own attention and all of its parts back. */
function asTrained(): void {
  if (swapped.peek().size > 0) swapNone();
  if (switched.peek().length > 0) switchNone();
}

function score(value: number): string {
  return value.toFixed(3).replace('-', '−');
}
