/** Buttons that mute the open head or all others of its layer, or make its weights equal. */
import { isMuted, isolate, muteAlso, muted, unmute, unmuteAll } from './muted.ts';
import type { Head } from './muted.ts';
import { switched, turn, uniformHead } from '../switching/switched.ts';
import { t } from '../texts/texts.ts';

export function HeadSwitch({ head, count }: { head: Head; count: number }) {
  const silent = isMuted(head);
  const equal = uniformHead(head.kind, head.layer, head.head);
  return (
    <fieldset class="choice">
      <legend>{t('Without it?')}</legend>
      <div class="head-switch">
        <button type="button" class="chip" onClick={() => (silent ? unmute(head) : muteAlso(head))}>
          {silent ? t('Unmute this head') : t('Mute this head')}
        </button>
        {count > 1 && (
          <button type="button" class="chip" onClick={() => isolate(head, count)}>
            {t('Only this head of its layer')}
          </button>
        )}
        <button
          type="button"
          class="chip"
          aria-pressed={switched.value.includes(equal)}
          onClick={() => turn(equal)}
        >
          {t('Equal weights for all tokens')}
        </button>
        {muted.value.length > 0 && (
          <button type="button" class="chip" onClick={unmuteAll}>
            {t('All heads')}
          </button>
        )}
      </div>
    </fieldset>
  );
}
