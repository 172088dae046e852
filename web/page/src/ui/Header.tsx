import type { Signal } from '@preact/signals';

import { loading, running } from '../engine/load.ts';
import { languageName } from '../engine/languages.ts';
import { languages, modelName } from '../engine/source.ts';
import { ChevronIcon, Mark } from './icons.tsx';
import { place } from './place.ts';
import type { Place } from './place.ts';
import { language, LANGUAGES } from '../texts/language.ts';
import type { Language } from '../texts/language.ts';
import { chooseLanguage, t } from '../texts/texts.ts';
import type { Text } from '../texts/texts.ts';

/** The name, and a button that shows model and device and opens their choice. */
export function Header({ options }: { options: Signal<boolean> }) {
  return (
    <header class="head">
      <div class="brand">
        <Mark />
        <h1>Wordloom</h1>
        <nav class="tabs" aria-label={t('Places')}>
          <Tab of="translate" name="Translate" />
          <Tab of="train" name="Train" />
        </nav>
      </div>
      <LanguageSwitch />
      {place.value === 'translate' && (
        <button
          type="button"
          class="engine"
          aria-expanded={options.value}
          aria-controls="options"
          onClick={() => (options.value = !options.value)}
        >
          <EngineState />
          <ChevronIcon />
        </button>
      )}
    </header>
  );
}

/** The language of the page itself. */
function LanguageSwitch() {
  return (
    <label class="page-language">
      <span class="sr-only">{t('Language of this page')}</span>
      <select value={language.value} onChange={({ currentTarget }) => void chooseLanguage(currentTarget.value as Language)}>
        {LANGUAGES.map(({ value, label }) => (
          <option value={value} lang={value} key={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function Tab({ of, name }: { of: Place; name: Text }) {
  return (
    <button
      type="button"
      class="tab"
      aria-current={place.value === of ? 'page' : undefined}
      onClick={() => (place.value = of)}
    >
      {t(name)}
    </button>
  );
}

function EngineState() {
  const now = running.value;
  const next = loading.value;
  const choice = now?.choice ?? next?.choice;
  const { source, target } = choice === undefined ? { source: null, target: null } : languages(choice);
  const first = now?.via == null ? [] : [languageName(now.via.source)];
  const pair = [...first, languageName(source), languageName(target)];
  const name = pair.every((part) => part !== null) ? pair.join(' → ') : choice && modelName(choice);
  const device = now === null ? null : now.info.device.kind === 'gpu' ? 'GPU' : 'CPU';
  const state = next !== null ? 'busy' : now === null ? 'none' : 'ready';
  return (
    <>
      <span class={`dot dot--${state}`} aria-hidden="true" />
      <span class="sr-only">{t('Model and device:')}{' '}</span>
      <span class="engine__model">{name ?? t('No model')}</span>
      {device !== null && <span class="engine__device">{device}</span>}
      {next !== null && <span class="sr-only">{t(', loading')}</span>}
    </>
  );
}
