/** Announcements for screen readers: the finished translation, and the progress of a load. */
import { effect } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

import { loading, progress, running } from '../engine/load.ts';
import { runningOn } from '../engine/running-on.ts';
import { unsettled, views } from '../translation/live.ts';
import { viewText } from '../translation/views.ts';
import { t, told } from '../texts/texts.ts';

const SETTLED = 1200;
const SPEAKABLE = 400;

export function Announcer() {
  const [words, setWords] = useState('');
  useEffect(() => {
    let timer = 0;
    const later = (say: () => string): void => {
      clearTimeout(timer);
      timer = window.setTimeout(() => setWords(say()), SETTLED);
    };
    const stops = [
      effect(() => {
        const now = views.value;
        if (unsettled.value || now.length === 0) return;
        later(() => {
          const whole = now.map((view) => viewText(view) + view.passage.end).join('');
          return whole.length <= SPEAKABLE ? whole : t('The translation is ready.');
        });
      }),
      effect(() => {
        const step = progress.value?.step;
        if (step !== undefined && loading.value !== null) setWords(told(step));
      }),
      effect(() => {
        const now = running.value;
        if (now !== null && progress.peek() !== null)
          setWords(`${t('The model is ready.')} ${runningOn(now.info.device.notice)}`);
      }),
    ];
    return () => {
      clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  }, []);
  return (
    <div class="sr-only" role="status" data-testid="announcer">
      {words}
    </div>
  );
}
