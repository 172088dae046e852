import { signal } from '@preact/signals';

import { AttentionPanel } from '../attention/AttentionPanel.tsx';
import { DocumentPanel } from '../documents/DocumentPanel.tsx';
import { LessonsPlace } from '../lessons/LessonsPlace.tsx';
import { MutedBanner } from '../muting/MutedBanner.tsx';
import { SearchPanel } from '../search/SearchPanel.tsx';
import { showAlternatives, showAttention, showLessons, showSearch } from '../settings.ts';
import { AlternativesPanel } from './Alternatives.tsx';
import { Announcer } from './Announcer.tsx';
import { Desk } from './Desk.tsx';
import { DropZone } from './DropZone.tsx';
import { Examples } from './Examples.tsx';
import { Header } from './Header.tsx';
import { Notices } from './Notices.tsx';
import { Options } from './Options.tsx';
import { place } from './place.ts';
import { Toolbar } from './Toolbar.tsx';
import { TrainPlace } from './TrainPlace.tsx';
import { t } from '../texts/texts.ts';

export const showOptions = signal(false);

export function App() {
  return (
    <div class="page">
      <Header options={showOptions} />
      <main>
        <Notices />
        {place.value === 'train' ? <TrainPlace /> : <TranslatePlace />}
      </main>
      <footer class="foot quiet">
        <p>
          {t('Wordloom translates in this browser. What you type stays on this device.')}{' '}
          <a href="licences.txt">{t('Licences')}</a>
        </p>
      </footer>
      {place.value === 'translate' && <DropZone />}
      <Announcer />
    </div>
  );
}

function TranslatePlace() {
  return (
    <>
      <MutedBanner />
      {showOptions.value && <Options close={() => (showOptions.value = false)} />}
      <Desk />
      <DocumentPanel />
      <div class="under">
        <Toolbar />
        <Examples />
      </div>
      {showAlternatives.value && <AlternativesPanel />}
      {showSearch.value && <SearchPanel />}
      {showAttention.value && <AttentionPanel />}
      {showLessons.value && <LessonsPlace />}
    </>
  );
}
