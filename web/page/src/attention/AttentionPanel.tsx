/** The attention of the current translation or of a trace file: choices, view, and explanation. */
import type { Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { running } from '../engine/load.ts';
import { mapColours, mapScale } from '../settings.ts';
import { views } from '../translation/live.ts';
import { HeadSwitch } from '../muting/HeadSwitch.tsx';
import { KindSwitch } from '../swapping/KindSwitch.tsx';
import { PartSwitch } from '../switching/PartSwitch.tsx';
import { BackIcon, NextIcon } from '../ui/icons.tsx';
import { MicroscopePlace } from '../microscope/MicroscopePlace.tsx';
import { SentencePicker } from '../ui/SentencePicker.tsx';
import { COLOURS, KINDS, LOOKS, SCALES, head, kind, layer, look, step } from './choice.ts';
import type { Look, Pick } from './choice.ts';
import { Formula, PositionFormula } from './Formula.tsx';
import { Heatmap } from './Heatmap.tsx';
import { headName, kindName } from './labels.ts';
import { Legend } from './Legend.tsx';
import { Lines } from './Lines.tsx';
import { Numbers } from './Numbers.tsx';
import { Overview } from './Overview.tsx';
import { Player } from './Player.tsx';
import { PositionTable } from './PositionTable.tsx';
import { SaveBar } from './SaveBar.tsx';
import { TraceTexts } from './TraceTexts.tsx';
import { closeFile, kindOnShow, map, opened, openedSentence, pickOnShow, shown, stale, stepFile } from './traces.ts';
import { t, told } from '../texts/texts.ts';

export function AttentionPanel() {
  const file = opened.value;
  const now = file === null && views.value.length === 0 ? null : shown.value;
  useEffect(() => () => void (step.value = null), []);
  return (
    <section class="panel panel--attention" id="attention" aria-labelledby="attention-title">
      <div class="panel__head">
        <h2 id="attention-title">{t('Attention')}</h2>
        {file === null ? <SentencePicker /> : <FilePicker count={file.trace.sentences.length} />}
      </div>
      {file !== null && <OpenFile name={file.name} model={file.trace.model} />}
      {now === null ? (
        <p class="quiet">{t('The map appears with the first translation.')}</p>
      ) : (
        <>
          <div class="viewer__bar">
            <Choice
              label={t('Kind')}
              name="kind"
              options={KINDS.filter(({ value }) => now.sentence.kinds.some((one) => one.kind === value))}
              value={kindOnShow.value?.kind ?? kind.value}
              set={(value) => (kind.value = value)}
            />
            <Choice label={t('View')} name="look" options={LOOKS} value={look.value} set={(value) => (look.value = value)} />
          </div>
          <div class={isWide(look.value) ? 'attention attention--wide' : 'attention'}>
            <div class="attention__map">
              <View />
            </div>
            <div class="attention__side">
              <Side />
            </div>
            {look.value !== 'positions' && <Changes />}
          </div>
          <LeftOut />
        </>
      )}
      <SaveBar shown={now} />
    </section>
  );
}

const isWide = (how: Look): boolean => how === 'numbers' || how === 'microscope';

function View() {
  const now = shown.value;
  const one = map.value;
  if (now === null) return null;
  const how = look.value;
  switch (how) {
    case 'heads':
      return (
        <>
          <Overview shown={now} />
          <Player shown={now} />
        </>
      );
    case 'numbers':
      return <Numbers shown={now} />;
    case 'microscope':
      return <MicroscopePlace shown={now} />;
    case 'positions':
      return <PositionTable />;
  }
  if (one === null) return <p class="quiet">{t('One moment …')}</p>;
  const old = stale.value || one.shown !== now;
  return (
    <>
      <p class="viewer__title">{title(headName(one.layer, one.head))}</p>
      {how === 'map' ? <Heatmap map={one} stale={old} /> : <Lines map={one} stale={old} />}
      <Player shown={now} />
    </>
  );
}

/** The choices, the legend, and the explanation. */
function Side() {
  const of = kindOnShow.value;
  const model = opened.value === null ? running.value?.info.model : undefined;
  const pick = pickOnShow.value;
  const how = look.value;
  if (how === 'positions') {
    return (
      <>
        <Legend ends={['−1', '1']} />
        <Select label={t('Colours')} options={COLOURS} choice={mapColours} />
        <PositionFormula />
      </>
    );
  }
  const heads = of?.kind === 'encoder' ? model?.heads : model?.decoderHeads;
  return (
    <>
      {of !== null && (how === 'map' || how === 'lines') && (
        <>
          <Choice
            label={t('Layer')}
            name="layer"
            options={numbered(of.layers)}
            value={pick.layer}
            set={(value) => (layer.value = value)}
          />
          <Choice
            label={t('Head')}
            name="head"
            options={numbered(Array.from({ length: of.heads }, (_, index) => index))}
            value={pick.head}
            set={(value) => (head.value = value)}
          />
          {opened.value === null && pick.layer !== 'mean' && pick.head !== 'mean' && (
            <HeadSwitch head={{ kind: of.kind, layer: pick.layer, head: pick.head }} count={of.heads} />
          )}
        </>
      )}
      {(how === 'map' || how === 'heads') && (
        <>
          {how === 'map' || mapScale.value !== 'linear' ? <Legend /> : <Legend ends={['0', t('a head’s most')]} />}
          <div class="viewer__selects">
            <Select label={t('Colours')} options={COLOURS} choice={mapColours} />
            <Select label={t('Scale')} options={SCALES} choice={mapScale} />
          </div>
        </>
      )}
      <Formula
        kind={of?.kind ?? 'cross'}
        width={model === undefined || heads === undefined ? null : Math.round(model.dModel / heads)}
      />
    </>
  );
}

/** What can be changed in the model, to see what it does without. A trace file has no model. */
function Changes() {
  const model = opened.value === null ? running.value?.info.model : undefined;
  if (model === undefined) return null;
  return (
    <div class="attention__changes">
      {model.encoderLayers > 0 && <KindSwitch layers={model.encoderLayers} />}
      <PartSwitch encoder={model.encoderLayers} decoder={model.decoderLayers} />
    </div>
  );
}

function numbered(indices: readonly number[]): readonly { value: Pick; label: string }[] {
  return [
    { value: 'mean', label: t('mean') },
    ...indices.map((value) => ({ value, label: String(value + 1) })),
  ];
}

interface ChoiceProps<T> {
  readonly label: string;
  readonly name: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  set(value: T): void;
}

function Choice<T extends string | number>({ label, name, options, value, set }: ChoiceProps<T>) {
  return (
    <fieldset class="choice">
      <legend>{told(label)}</legend>
      <div class="choice__list">
        {options.map((option) => (
          <label class="choice__item" key={option.value}>
            <input type="radio" name={name} checked={option.value === value} onChange={() => set(option.value)} />
            <span>{told(option.label)}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface SelectProps<T extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly choice: Signal<T>;
}

function Select<T extends string>({ label, options, choice }: SelectProps<T>) {
  return (
    <label class="viewer__select">
      <span>{label}</span>
      <select value={choice.value} onChange={(event) => (choice.value = event.currentTarget.value as T)}>
        {options.map((option) => (
          <option value={option.value} key={option.value}>
            {told(option.label)}
          </option>
        ))}
      </select>
    </label>
  );
}

function OpenFile({ name, model }: { name: string; model: string }) {
  const now = shown.value;
  return (
    <div class="viewer__file">
      <p>
        <bdi>
          <b class="viewer__name">{name}</b>
        </bdi>
        {model !== '' && (
          <>
            , a trace of <bdi>{model}</bdi>
          </>
        )}
      </p>
      <button type="button" class="button" onClick={closeFile}>
        {t('Back to the translation')}
      </button>
      {now !== null && <TraceTexts sentence={now.sentence} />}
    </div>
  );
}

function FilePicker({ count }: { count: number }) {
  const index = openedSentence.value;
  if (count < 2) return null;
  return (
    <div class="stepper" role="group" aria-label={t('Sentence')}>
      <button
        type="button"
        class="icon-button"
        aria-label={t('Sentence before')}
        disabled={index === 0}
        onClick={() => stepFile(-1)}
      >
        <BackIcon />
      </button>
      <span class="number">
        <span class="sr-only">{t('Sentence')}{' '}</span>
        {t('{number} of {count}', { number: index + 1, count })}
      </span>
      <button
        type="button"
        class="icon-button"
        aria-label={t('Next sentence')}
        disabled={index >= count - 1}
        onClick={() => stepFile(1)}
      >
        <NextIcon />
      </button>
    </div>
  );
}

/** The attention that did not fit into memory, with the engine's reason. */
function LeftOut() {
  const missing = shown.value?.sentence.leftOut ?? [];
  if (missing.length === 0) return null;
  const name = (entry: (typeof missing)[number]): string =>
    entry.kind === null
      ? t('alternatives')
      : `${kindName(entry.kind)}, ${t('layer {number}', { number: (entry.layer ?? 0) + 1 })}`;
  return (
    <p class="quiet panel__note">
      {t('Not kept:')} {missing.map(name).join('; ')}: <bdi>{missing[0]?.reason}</bdi>.
    </p>
  );
}

function title(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
