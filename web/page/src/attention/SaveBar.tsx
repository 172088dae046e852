/** Saves the current view as picture, data or trace, and makes a link to it. */
import { useRef, useState } from 'preact/hooks';

import { running } from '../engine/load.ts';
import { notify } from '../notices.ts';
import { permalink } from '../permalink.ts';
import { sentence as asSentence } from '../words.ts';
import { FolderIcon, LinkIcon } from '../ui/icons.tsx';
import { look } from './choice.ts';
import { download } from './download.ts';
import { positionsScene } from './position-scene.ts';
import { toPng, toSvg } from './scene.ts';
import type { Scene } from './scene.ts';
import { headsScene, linesScene, mapScene } from './scenes.ts';
import { mapTable, numbersTable, positionsTable } from './tables.ts';
import { kindOnShow, map, openFile, opened, renew, withTaps } from './traces.ts';
import type { Shown } from './traces.ts';
import { t, told } from '../texts/texts.ts';

export function SaveBar({ shown }: { shown: Shown | null }) {
  const [busy, setBusy] = useState(false);
  const save = (what: string, make: (shown: Shown) => Promise<Blob>) => async (): Promise<void> => {
    if (shown === null) return;
    setBusy(true);
    try {
      download(await make(shown), `${nameOf()}.${what}`);
    } catch (error) {
      renew(error, shown);
      const reason = error instanceof Error ? error.message : String(error);
      notify({ about: 'attention', tone: 'error', title: `${t('Nothing was saved.')} ${asSentence(reason)}` });
    } finally {
      setBusy(false);
    }
  };
  const buttons = [
    { label: 'PNG', hint: 'This view as a picture', run: save('png', async (of) => toPng(await sceneOf(of))) },
    { label: 'SVG', hint: 'This view as a drawing', run: save('svg', async (of) => toSvg(await sceneOf(of))) },
    { label: 'CSV', hint: 'This view’s numbers as a table', run: save('csv', tableOf) },
    { label: 'NPZ', hint: 'All weights of the sentence, for NumPy', run: save('npz', npzOf) },
    {
      label: 'Trace',
      hint: 'All of it in a file that opens here again, without the model',
      run: save('safetensors', traceOf('safetensors')),
    },
    { label: 'Trace as JSON', hint: 'The same as text', run: save('json', traceOf('json')) },
  ];
  // the numbers are saved as a table, not as a picture
  const pictured = look.value !== 'numbers';
  return (
    <div class="save" aria-busy={busy}>
      {shown !== null && (
        <div class="save__group" role="group" aria-label={t('Save')}>
          <span class="quiet">{t('Save')}</span>
          {buttons.map(({ label, hint, run }, index) =>
            index < 2 && !pictured ? null : (
              <button
                type="button"
                class="chip"
                title={told(hint)}
                aria-label={t('Save as {format}', { format: told(label) })}
                disabled={busy}
                onClick={() => void run()}
                key={label}
              >
                {told(label)}
              </button>
            ),
          )}
        </div>
      )}
      <div class="save__group">
        {shown !== null && opened.value === null && <CopyLink />}
        <OpenTrace />
      </div>
    </div>
  );
}

function OpenTrace() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        class="chip"
        title={t('Open a trace file that was saved here or by the command')}
        onClick={() => input.current?.click()}
      >
        <FolderIcon />
        {t('Open a trace')}
      </button>
      <input
        ref={input}
        class="sr-only"
        type="file"
        tabIndex={-1}
        aria-label={t('Trace file')}
        accept=".json,.safetensors"
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          event.currentTarget.value = '';
          if (file !== undefined) void openFile(file);
        }}
      />
    </>
  );
}

function CopyLink() {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    const link = permalink();
    if (link === null) {
      const title = 'This text is too long for a link.';
      notify({ about: 'copy', tone: 'info', title, advice: 'Save the trace instead: it opens here again.' });
      return;
    }
    history.replaceState(null, '', link);
    try {
      await navigator.clipboard.writeText(link);
      setDone(true);
      setTimeout(() => setDone(false), 1600);
    } catch {
      const title = 'This browser did not let the page copy.';
      notify({ about: 'copy', tone: 'info', title, advice: 'The link is in the address bar: copy it from there.' });
    }
  };
  return (
    <button
      type="button"
      class="chip"
      title={t('A link to this text and view, which no server sees')}
      onClick={() => void copy()}
    >
      <LinkIcon />
      <span aria-live="polite">{done ? t('Copied') : t('Copy a link')}</span>
    </button>
  );
}

async function sceneOf(shown: Shown): Promise<Scene> {
  switch (look.peek()) {
    case 'heads':
      return headsScene(shown);
    case 'positions':
      return positionsScene(shown.trace);
    case 'lines':
      return linesScene(onShow());
    default:
      return mapScene(onShow());
  }
}

function onShow() {
  const now = map.peek();
  if (now === null) throw new Error('There is no map yet.');
  return now;
}

async function tableOf(shown: Shown): Promise<Blob> {
  const kind = kindOnShow.peek()?.kind ?? 'cross';
  const asTable = (text: string): Blob => new Blob(['\ufeff', text], { type: 'text/csv' });
  switch (look.peek()) {
    case 'numbers':
    case 'heads':
      return asTable(numbersTable(await shown.trace.statistics({ kind, sentence: shown.index })));
    case 'positions': {
      const { values, shape } = (await running.peek()?.translator.positions()) ?? {};
      if (values === undefined || shape === undefined) throw new Error('This model has no such table.');
      return asTable(positionsTable(values, shape[1]));
    }
    default:
      return asTable(mapTable(onShow()));
  }
}

async function npzOf(shown: Shown): Promise<Blob> {
  return new Blob([await shown.trace.file('npz', { sentence: shown.index })], { type: 'application/zip' });
}

function traceOf(format: 'json' | 'safetensors') {
  return async (shown: Shown): Promise<Blob> => {
    const tapped = look.peek() === 'microscope' ? await withTaps() : null;
    try {
      return new Blob([await (tapped ?? shown.trace).file(format)]);
    } finally {
      tapped?.close();
    }
  };
}

function nameOf(): string {
  const kind = kindOnShow.peek()?.kind ?? 'cross';
  return look.peek() === 'positions' ? 'positions' : `attention-${kind}`;
}
