/** The translation's half of the page. */
import { useState } from 'preact/hooks';

import { cancelLoad, loading, progress, running } from '../engine/load.ts';
import { languageName, languageTag, targetsOf } from '../engine/languages.ts';
import { languages, modelName } from '../engine/source.ts';
import { runningOn } from '../engine/running-on.ts';
import { notify } from '../notices.ts';
import { showConfidence, text } from '../settings.ts';
import { direction } from '../translation/direction.ts';
import { doubts } from '../translation/doubts.ts';
import { activity, outcome, searchBeams, unsettled, views } from '../translation/live.ts';
import { viewText } from '../translation/views.ts';
import { ConfidenceLegend } from './Confidence.tsx';
import { CopyIcon, DoneIcon } from './icons.tsx';
import { LanguagePicker } from './LanguagePicker.tsx';
import { Output } from './Output.tsx';
import { ProgressBar } from './ProgressBar.tsx';
import { sizeClass } from './size.ts';
import { t, told } from '../texts/texts.ts';

export function Target() {
  const choice = running.value?.choice ?? loading.value?.choice;
  const { source, target: chosen, guessed } = direction.value;
  const all = running.value?.info.model.languages;
  const count = guessed && all !== undefined ? targetsOf(all, source).length : 0;
  const code = chosen ?? (choice === undefined ? null : languages(choice).target);
  const waiting = running.value === null ? progress.value : null;
  return (
    <section class="pane pane--target" aria-labelledby="target-title" aria-busy={unsettled.value}>
      <div class="pane__head">
        <h2 class="sr-only" id="target-title">
          {languageName(code) ?? t('The other language')}
        </h2>
        <LanguagePicker
          side="to"
          name={languageName(code) ?? (running.value?.info.model.summarizes ? t('Summary') : t('Translation'))}
          hint={count > 1 ? t('This model writes {count} languages. Choose yours.', { count }) : undefined}
        />
        {views.value.length > 0 && <CopyButton />}
      </div>
      {waiting === null ? (
        <Output lang={code === null ? null : languageTag(code)} size={sizeClass(text.value)} />
      ) : (
        <div class="text text--waiting">
          <ProgressBar progress={waiting} />
        </div>
      )}
      {showConfidence.value && <ConfidenceLegend />}
      <div class="pane__foot quiet">
        <Status />
      </div>
    </section>
  );
}

/** Device and speed, if known. */
function Status() {
  const now = running.value;
  const busy = activity.value;
  const last = outcome.value;
  if (now === null) return <span />;
  const next = loading.value;
  const arriving = progress.value;
  if (next !== null && arriving !== null) {
    return (
      <>
        <span class="number">
          {modelName(next.choice)}: {arriving.detail || told(arriving.step)}
        </span>
        {arriving.done === null ? (
          <progress class="thin" aria-label={told(arriving.step)} />
        ) : (
          <progress class="thin" aria-label={told(arriving.step)} value={arriving.done} max={arriving.total} />
        )}
        <button type="button" class="link" onClick={cancelLoad}>
          {t('Stop')}
        </button>
      </>
    );
  }
  if (busy !== null && busy.reading !== null) {
    const percent = Math.floor(100 * busy.reading);
    return (
      <>
        <span class="number">{t('{percent} % read', { percent })}</span>
        <progress class="thin" aria-label={t('Read')} value={busy.reading} max={1} />
      </>
    );
  }
  if (busy !== null && busy.total > 3000) {
    const percent = Math.floor((100 * busy.done) / busy.total);
    return (
      <>
        <span class="number">{t('{percent} % translated', { percent })}</span>
        <progress class="thin" aria-label={t('Translated')} value={busy.done} max={busy.total} />
      </>
    );
  }
  const { device } = now.info;
  const speed = last === null || last.milliseconds === 0 ? null : (1000 * last.tokens) / last.milliseconds;
  const parts = [
    device.kind === 'gpu' ? 'GPU' : 'CPU',
    ...(now.via === null ? [] : [t('through English')]),
    searchBeams.value === 1 ? t('greedy') : t('{count} beams', { count: searchBeams.value }),
    ...(last === null || last.leftOut === 0 ? [] : [t('the last {count} tokens are left out', { count: last.leftOut })]),
    ...(doubts.value === 0 ? [] : [t('doubtful: {count}', { count: doubts.value })]),
    ...(speed === null ? [] : [t('{count} tokens/s', { count: speed < 10 ? speed.toFixed(1) : Math.round(speed) })]),
  ];
  return (
    <span class="number" title={runningOn(device.notice)}>
      {parts.join(' · ')}
    </span>
  );
}

function CopyButton() {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(translation());
      setDone(true);
      setTimeout(() => setDone(false), 1600);
    } catch {
      notify({
        about: 'copy',
        tone: 'info',
        title: 'This browser did not let the page copy.',
        advice: 'Select the translation and copy it by hand.',
      });
    }
  };
  return (
    <button type="button" class="icon-button" title={t('Copy the translation')} onClick={() => void copy()}>
      {done ? <DoneIcon /> : <CopyIcon />}
      <span class="sr-only" aria-live="polite">
        {done ? t('Copied') : t('Copy the translation')}
      </span>
    </button>
  );
}

function translation(): string {
  return views
    .peek()
    .map((view) => viewText(view) + view.passage.end)
    .join('');
}
