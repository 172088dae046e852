/** A document's progress, and its translation to save. */
import { languageName } from '../engine/languages.ts';
import { t } from '../texts/texts.ts';
import { pair } from '../translation/direction.ts';
import { CloseIcon, DoneIcon, FileIcon } from '../ui/icons.tsx';
import { closeJob, job } from './document.ts';
import type { Job } from './document.ts';

/** Progress before which a rest is not estimated. */
const KNOWN = 0.02;

export function DocumentPanel() {
  const now = job.value;
  if (now === null) return null;
  return (
    <section class="panel document" aria-label={t('Document')}>
      {now.result === null ? <FileIcon /> : <DoneIcon />}
      <div class="document__words">
        <p class="document__name" dir="auto">
          {now.result?.name ?? now.file.name}
        </p>
        {now.result === null ? <Working now={now} /> : <p class="quiet" role="status">{t('Translated. Only the text has changed.')}</p>}
      </div>
      {now.result === null ? (
        <button type="button" class="button" onClick={closeJob}>
          {t('Stop')}
        </button>
      ) : (
        <>
          <a class="button" href={now.result.url} download={now.result.name}>
            {t('Save')}
          </a>
          <button type="button" class="icon-button" aria-label={t('Close')} title={t('Close')} onClick={closeJob}>
            <CloseIcon />
          </button>
        </>
      )}
    </section>
  );
}

function Working({ now: { progress, begun } }: { now: Job }) {
  const share = progress === null || progress.total === 0 ? null : progress.done / progress.total;
  const target = languageName(pair.value.target);
  const label = target === null ? t('Translating …') : t('Translating into {language} …', { language: target });
  return (
    <div class="progress">
      <p class="progress__words quiet">
        {label} <span class="number">{share === null ? '' : rest(share, (performance.now() - begun) / 1000)}</span>
      </p>
      {share === null ? (
        <progress class="thin" aria-label={label} />
      ) : (
        <progress class="thin" aria-label={label} value={share} max={1} />
      )}
    </div>
  );
}

/** `42 %, 3 min left` */
function rest(share: number, seconds: number): string {
  const percent = `${Math.floor(share * 100)} %`;
  if (share < KNOWN || share === 1) return percent;
  const left = (seconds * (1 - share)) / share;
  const time =
    left < 90
      ? t('{count} s left', { count: Math.max(1, Math.round(left)) })
      : t('{count} min left', { count: Math.round(left / 60) });
  return `${percent}, ${time}`;
}
