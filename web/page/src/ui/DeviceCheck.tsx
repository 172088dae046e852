/** Compares the GPU with the CPU, and offers the report. */
import { useState } from 'preact/hooks';

import { checkGpu, deviceCheck } from '../engine/device-check.ts';
import { notify } from '../notices.ts';
import { t } from '../texts/texts.ts';
import { sentence } from '../words.ts';

export function DeviceCheck() {
  const state = deviceCheck.value;
  if (state?.kind === 'running') {
    const percent = Math.round(state.fraction * 100);
    return (
      <div class="options__check">
        <progress class="thin" max={100} value={percent} aria-label={t('Checking the GPU')} />
        <p class="quiet">{t('Checking the GPU: {percent} %', { percent })}</p>
      </div>
    );
  }
  return (
    <div class="options__check">
      <div class="options__row">
        <button type="button" class="button" onClick={() => void checkGpu()}>
          {t('Check this GPU')}
        </button>
        {state?.kind === 'finished' && <CopyReport report={state.result.report} />}
      </div>
      <p class="quiet" role="status">
        {state === null && t('Compares every calculation with the CPU. Wrong ones are then avoided.')}
        {state?.kind === 'finished' && said(state.result)}
        {state?.kind === 'failed' && sentence(state.message)}
      </p>
    </div>
  );
}

function CopyReport({ report }: { report: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(report);
      setCopied(true);
    } catch {
      notify({ about: 'copy', tone: 'info', title: 'This browser did not let the page copy.' });
    }
  };
  return (
    <button type="button" class="button" onClick={() => void copy()}>
      {copied ? t('Copied') : t('Copy the report')}
    </button>
  );
}

function said({ usable, passOver: { wrong, slow } }: { usable: boolean; passOver: { wrong: string[]; slow: string[] } }): string {
  if (!usable) return t('This GPU computes wrong numbers. Choose the CPU.');
  const count = wrong.length + slow.length;
  if (count === 0) return t('This GPU computes everything as the CPU does.');
  return t('This GPU is used without calculations that are wrong or slow here: {count}.', { count });
}
