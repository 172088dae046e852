/** The lessons, whose code is fetched when they are first opened. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';

import { t } from '../texts/texts.ts';

const panel = signal<ComponentType | null>(null);
const failed = signal(false);

export function LessonsPlace() {
  useEffect(() => {
    if (panel.peek() === null) fetchPanel();
  }, []);
  const Panel = panel.value;
  return (
    <section class="panel" id="lessons" aria-labelledby="lessons-title">
      <div class="panel__head">
        <h2 id="lessons-title">{t('Lessons')}</h2>
      </div>
      {Panel !== null ? (
        <Panel />
      ) : failed.value ? (
        <p role="alert">
          {t('The code of the lessons could not be fetched.')}{' '}
          <button type="button" class="button" onClick={fetchPanel}>
            {t('Try again')}
          </button>
        </p>
      ) : (
        <p class="quiet">{t('One moment …')}</p>
      )}
    </section>
  );
}

function fetchPanel(): void {
  failed.value = false;
  import('./Lessons.tsx').then(
    ({ Lessons }) => (panel.value = Lessons),
    () => (failed.value = true),
  );
}
