/** Gives one encoder layer, or all, another kind of self-attention. */
import { signal } from '@preact/signals';

import { swap, swapNone, swapped, SWAPS } from './swapped.ts';
import type { Swap } from './swapped.ts';
import { t, told } from '../texts/texts.ts';

/** The chosen layer; `all` is the choice of a new page. */
const layer = signal<number | 'all'>('all');

export function KindSwitch({ layers }: { layers: number }) {
  const all = Array.from({ length: layers }, (_, index) => index);
  const wanted = layer.value === 'all' || layer.value >= layers ? all : [layer.value];
  const kinds = new Set(wanted.map((one) => swapped.value.get(one) ?? ''));
  const [kind = ''] = kinds.size === 1 ? kinds : ['mixed'];
  return (
    <fieldset class="choice">
      <legend>{t('With another attention?')}</legend>
      <div class="viewer__selects">
        <label class="viewer__select">
          <span>{t('Encoder layer')}</span>
          <select
            value={String(layer.value)}
            onChange={({ currentTarget: { value } }) => (layer.value = value === 'all' ? 'all' : Number(value))}
          >
            <option value="all">{t('all')}</option>
            {all.map((index) => (
              <option value={String(index)} key={index}>
                {index + 1}
              </option>
            ))}
          </select>
        </label>
        <label class="viewer__select">
          <span>{t('Kind of attention')}</span>
          <select
            value={kind}
            onChange={({ currentTarget: { value } }) => swap(wanted, value === '' ? null : (value as Swap))}
          >
            <option value="">{t('as trained')}</option>
            {kind === 'mixed' && (
              <option value="mixed" disabled>
                {t('several')}
              </option>
            )}
            {SWAPS.map(({ value, label }) => (
              <option value={value} key={value}>
                {told(label)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {swapped.value.size > 0 && (
        <button type="button" class="chip kind-switch__none" onClick={swapNone}>
          {t('All layers as trained')}
        </button>
      )}
    </fieldset>
  );
}
