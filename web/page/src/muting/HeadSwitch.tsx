/** Buttons that mute the open head or all others of its layer. */
import { isMuted, isolate, muteAlso, muted, unmute, unmuteAll } from './muted.ts';
import type { Head } from './muted.ts';

export function HeadSwitch({ head, count }: { head: Head; count: number }) {
  const silent = isMuted(head);
  return (
    <fieldset class="choice">
      <legend>Without it?</legend>
      <div class="head-switch">
        <button type="button" class="chip" onClick={() => (silent ? unmute(head) : muteAlso(head))}>
          {silent ? 'Unmute this head' : 'Mute this head'}
        </button>
        {count > 1 && (
          <button type="button" class="chip" onClick={() => isolate(head, count)}>
            Only this head of its layer
          </button>
        )}
        {muted.value.length > 0 && (
          <button type="button" class="chip" onClick={unmuteAll}>
            All heads
          </button>
        )}
      </div>
    </fieldset>
  );
}
