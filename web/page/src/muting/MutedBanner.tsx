/** Shows the muted heads, and the sentence's translation without muting. */
import { plainOf } from '../translation/live.ts';
import { selected } from '../translation/selection.ts';
import { describe, muted, unmuteAll } from './muted.ts';

export function MutedBanner() {
  const heads = muted.value;
  if (heads.length === 0) return null;
  const now = selected.value;
  const plain = now === null ? null : plainOf(now.passage, now.sentence);
  return (
    <div class="notice muted" role="status">
      <div class="notice__words">
        <p>
          <b>Muted:</b> {describe(heads).join('; ')}.
        </p>
        {now !== null && plain !== null && (
          <p class="quiet" dir="auto">
            {plain === now.hypothesis.text ? (
              'The translation is the same with all heads.'
            ) : (
              <>
                With all heads: <bdi>{plain}</bdi>
              </>
            )}
          </p>
        )}
      </div>
      <div class="notice__actions">
        <button type="button" class="button" onClick={unmuteAll}>
          All heads
        </button>
      </div>
    </div>
  );
}
