/** Shows what differs from the trained model, and the sentence's translation without that. */
import { interventions } from '../interventions.ts';
import { describeSwaps, swapNone, swapped } from '../swapping/swapped.ts';
import { describeSwitches, switchNone, switched } from '../switching/switched.ts';
import { plainOf } from '../translation/live.ts';
import { selected } from '../translation/selection.ts';
import { describe, muted, unmuteAll } from './muted.ts';

export function MutedBanner() {
  if (interventions.value.length === 0) return null;
  const [heads, swaps, parts] = [muted.value, swapped.value, switched.value];
  const now = selected.value;
  const plain = now === null ? null : plainOf(now.passage, now.sentence);
  const only = swaps.size === 0 && parts.length === 0;
  const before = only ? 'with all heads' : 'as trained';
  return (
    <div class="notice muted" role="status">
      <div class="notice__words">
        {heads.length > 0 && (
          <p>
            <b>Muted:</b> {describe(heads).join('; ')}.
          </p>
        )}
        {swaps.size > 0 && (
          <p>
            <b>Swapped:</b> {describeSwaps(swaps).join('; ')}.
          </p>
        )}
        {parts.length > 0 && (
          <p>
            <b>Switched:</b> {describeSwitches(parts).join('; ')}.
          </p>
        )}
        {now !== null && plain !== null && (
          <p class="quiet" dir="auto">
            {plain.text === now.hypothesis.text ? (
              `The translation is the same ${before}, with a score of ${score(now.hypothesis.score)} instead of ${score(plain.score)}.`
            ) : (
              <>
                {before.charAt(0).toUpperCase() + before.slice(1)}: <bdi>{plain.text}</bdi> Its score was{' '}
                {score(plain.score)}; now it is {score(now.hypothesis.score)}.
              </>
            )}
          </p>
        )}
      </div>
      <div class="notice__actions">
        {heads.length > 0 && (
          <button type="button" class="button" onClick={unmuteAll}>
            All heads
          </button>
        )}
        {!only && (
          <button type="button" class="button" onClick={asTrained}>
            As trained
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
