/** Switches for the panels beside the translation. */
import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { showAlternatives, showAttention, showConfidence, showLessons, showSearch } from '../settings.ts';
import { GaugeIcon, GridIcon, LessonIcon, ListIcon, TreeIcon } from './icons.tsx';
import { t } from '../texts/texts.ts';

export function Toolbar() {
  return (
    <div class="toolbar" role="group" aria-label={t('Look closer')}>
      <Switch shown={showAlternatives}>
        <ListIcon />
        {t('Alternatives')}
      </Switch>
      <Switch shown={showConfidence}>
        <GaugeIcon />
        {t('Confidence')}
      </Switch>
      <Switch shown={showSearch}>
        <TreeIcon />
        {t('Search')}
      </Switch>
      <Switch shown={showAttention}>
        <GridIcon />
        {t('Attention')}
      </Switch>
      <Switch shown={showLessons}>
        <LessonIcon />
        {t('Lessons')}
      </Switch>
    </div>
  );
}

function Switch({ shown, children }: { shown: Signal<boolean>; children: ComponentChildren }) {
  return (
    <button
      type="button"
      class="switch"
      aria-pressed={shown.value}
      onClick={() => (shown.value = !shown.value)}
    >
      {children}
    </button>
  );
}
