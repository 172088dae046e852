import type { Signal } from '@preact/signals';

import { loading, running } from '../engine/load.ts';
import { languageName } from '../engine/languages.ts';
import { languages, modelName } from '../engine/source.ts';
import { ChevronIcon, Mark } from './icons.tsx';
import { place } from './place.ts';
import type { Place } from './place.ts';

/** The name, and a button that shows model and device and opens their choice. */
export function Header({ options }: { options: Signal<boolean> }) {
  return (
    <header class="head">
      <div class="brand">
        <Mark />
        <h1>Wordloom</h1>
        <nav class="tabs" aria-label="Places">
          <Tab of="translate">Translate</Tab>
          <Tab of="train">Train</Tab>
        </nav>
      </div>
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

function Tab({ of, children }: { of: Place; children: string }) {
  return (
    <button
      type="button"
      class="tab"
      aria-current={place.value === of ? 'page' : undefined}
      onClick={() => (place.value = of)}
    >
      {children}
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
      <span class="sr-only">Model and device: </span>
      <span class="engine__model">{name ?? 'No model'}</span>
      {device !== null && <span class="engine__device">{device}</span>}
      {next !== null && <span class="sr-only">, loading</span>}
    </>
  );
}
