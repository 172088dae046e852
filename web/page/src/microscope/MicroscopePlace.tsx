/** The microscope, whose code is fetched when it is first opened. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';

import type { Shown } from '../attention/traces.ts';
import { t } from '../texts/texts.ts';

const panel = signal<ComponentType<{ shown: Shown }> | null>(null);
const failed = signal(false);

export function MicroscopePlace({ shown }: { shown: Shown }) {
  useEffect(() => {
    if (panel.peek() === null) fetchPanel();
  }, []);
  const Panel = panel.value;
  if (Panel !== null) return <Panel shown={shown} />;
  if (!failed.value) return <p class="quiet">{t('One moment …')}</p>;
  return (
    <p role="alert">
      {t('The code of the microscope could not be fetched.')}{' '}
      <button type="button" class="button" onClick={fetchPanel}>
        {t('Try again')}
      </button>
    </p>
  );
}

function fetchPanel(): void {
  failed.value = false;
  import('./Microscope.tsx').then(
    ({ Microscope }) => (panel.value = Microscope),
    () => (failed.value = true),
  );
}
