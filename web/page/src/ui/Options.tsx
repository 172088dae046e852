/** The choice of model, device and search, and the running device with its reason. */
import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';

import { load, loading, reload, running, startingChoice } from '../engine/load.ts';
import { megabytes } from '../engine/progress.ts';
import { modelName, toChoice } from '../engine/source.ts';
import type { ModelChoice } from '../engine/source.ts';
import { runningOn } from '../engine/running-on.ts';
import { notify } from '../notices.ts';
import { MAX_ALTERNATIVES, MAX_BEAMS, alternatives, beams, device, glossary } from '../settings.ts';
import type { DeviceChoice } from '../settings.ts';
import { hasNoGlossary } from '../translation/glossary.ts';
import { searchBeams } from '../translation/live.ts';
import { DeviceCheck } from './DeviceCheck.tsx';
import { CloseIcon, FolderIcon } from './icons.tsx';
import { t, told } from '../texts/texts.ts';

const DEVICES: readonly { value: DeviceChoice; label: string }[] = [
  { value: 'auto', label: 'Automatic' },
  { value: 'gpu', label: 'GPU' },
  { value: 'cpu', label: 'CPU' },
];

export function Options({ close }: { close: () => void }) {
  return (
    <section class="panel options" id="options" aria-label={t('Model and device')}>
      <button
        type="button"
        class="icon-button options__close"
        aria-label={t('Close')}
        title={t('Close')}
        onClick={close}
      >
        <CloseIcon />
      </button>
      <div class="options__grid">
        <ModelOptions />
        <DeviceOptions />
        <SearchOptions />
        <GlossaryOptions />
      </div>
    </section>
  );
}

function Group({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="options__group" role="group" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

function ModelOptions() {
  const folder = useRef<HTMLInputElement>(null);
  const now = running.value;
  return (
    <Group title={t('Model')}>
      {now !== null && (
        <p>
          <b>{modelName(now.choice)}</b>
          <br />
          <span class="quiet number">
            {t('{count} million parameters, {size} on the device, {encoder} + {decoder} layers', {
              count: (now.info.model.parameters / 1e6).toFixed(1),
              size: megabytes(now.info.model.weightBytes),
              encoder: now.info.model.encoderLayers,
              decoder: now.info.model.decoderLayers,
            })}
          </span>
        </p>
      )}
      <div class="options__row">
        <button type="button" class="button" onClick={() => folder.current?.click()}>
          <FolderIcon />
          {t('Choose a folder')}
        </button>
        <input
          ref={folder}
          class="sr-only"
          type="file"
          tabIndex={-1}
          aria-label={t('Model folder')}
          multiple
          {...{ webkitdirectory: true }}
          onChange={(event) => {
            const files = [...(event.currentTarget.files ?? [])];
            event.currentTarget.value = '';
            const name = files[0]?.webkitRelativePath.split('/')[0];
            if (files.length > 0) start({ kind: 'folder', name: name || 'Your model', files });
          }}
        />
        {(now?.choice ?? startingChoice()).kind !== 'bundled' && (
          <button type="button" class="button" onClick={() => start({ kind: 'bundled' })}>
            Use the built-in one
          </button>
        )}
      </div>
      <p class="quiet">{t('Or drop a model folder anywhere on this page.')}</p>
      <UrlField />
    </Group>
  );
}

function UrlField() {
  const [address, setAddress] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    if (address.trim() === '') return;
    try {
      start(toChoice(address));
    } catch {
      notify({
        about: 'load',
        tone: 'error',
        title: `“${address}” is no web address.`,
        advice:
          'It begins with https://, or names a model of the Hugging Face hub: Helsinki-NLP/opus-mt-en-fr.',
      });
    }
  };
  return (
    <form class="options__row" onSubmit={submit}>
      <input
        class="field"
        type="text"
        inputMode="url"
        aria-label={t('Address of a model folder')}
        placeholder="https://…/opus-mt-en-fr/"
        autocomplete="off"
        spellcheck={false}
        value={address}
        onInput={(event) => setAddress(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        {t('Load')}
      </button>
    </form>
  );
}

function DeviceOptions() {
  const wanted = loading.value?.device ?? running.value?.device ?? device.value;
  const now = running.value;
  return (
    <Group title={t('Device')}>
      <div class="choice__list" role="radiogroup" aria-label={t('Device')}>
        {DEVICES.map(({ value, label }) => (
          <label class="choice__item" key={value}>
            <input
              type="radio"
              name="device"
              checked={value === wanted}
              onChange={() => void reload(value)}
            />
            <span>{told(label)}</span>
          </label>
        ))}
      </div>
      {now !== null && (
        <p class="quiet" data-testid="device-notice">
          {runningOn(now.info.device.notice)}
        </p>
      )}
      {now?.info.device.kind === 'gpu' && <DeviceCheck />}
    </Group>
  );
}

function SearchOptions() {
  const count = searchBeams.value;
  return (
    <Group title={t('Search')}>
      <Slider
        label={t('Beams')}
        most={MAX_BEAMS}
        value={count}
        set={(value) => (beams.value = value)}
        hint={count === 1 ? t('Greedy: the fastest.') : t('How many translations are followed at once.')}
      />
      <Slider
        label={t('Alternatives')}
        most={MAX_ALTERNATIVES}
        value={Math.min(alternatives.value, count)}
        set={(value) => (alternatives.value = value)}
        hint={t('How many of them are shown, at most as many as beams.')}
      />
    </Group>
  );
}

function GlossaryOptions() {
  const id = useId();
  return (
    <Group title={t('Glossary')}>
      <textarea
        class="field options__terms"
        aria-label={t('Terms of the glossary')}
        aria-describedby={id}
        rows={3}
        spellcheck={false}
        placeholder="ticket = Fahrschein"
        value={glossary.value}
        onInput={(event) => (glossary.value = event.currentTarget.value)}
      />
      <p class="quiet" id={id}>
        {hasNoGlossary.value
          ? t('A translation through English takes no glossary.')
          : t('One term a line, and its translation after =.')}
      </p>
    </Group>
  );
}

interface SliderProps {
  readonly label: string;
  readonly most: number;
  readonly value: number;
  readonly hint: string;
  set(value: number): void;
}

function Slider({ label, most, value, hint, set }: SliderProps) {
  const id = useId();
  return (
    <div class="slider">
      <label for={id}>{label}</label>
      <output class="number" for={id}>
        {value}
      </output>
      <input
        id={id}
        type="range"
        min={1}
        max={most}
        value={value}
        aria-describedby={`${id}-hint`}
        onInput={(event) => set(Number(event.currentTarget.value))}
      />
      <p class="quiet" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  );
}

function start(choice: ModelChoice): void {
  void load(choice, device.peek());
}
