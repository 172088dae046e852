/** The tab "Train", whose code is fetched when it is first opened. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { t } from '../texts/texts.ts';

const tab = signal<ComponentType | null>(null);
const failed = signal(false);

export function TrainPlace() {
  useEffect(() => {
    if (tab.peek() === null) fetchTab();
  }, []);
  const Tab = tab.value;
  if (Tab !== null) return <Tab />;
  if (!failed.value) return <p class="quiet">{t('Loading …')}</p>;
  return (
    <p role="alert">
      {t('The code for training could not be fetched.')}{' '}
      <button type="button" class="button" onClick={fetchTab}>
        {t('Try again')}
      </button>
    </p>
  );
}

function fetchTab(): void {
  failed.value = false;
  import('../train/TrainTab.tsx').then(
    ({ TrainTab }) => (tab.value = TrainTab),
    () => (failed.value = true),
  );
}
