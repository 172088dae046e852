/** Switches parts of the model off: everywhere, in a stack, or in one layer. */
import { signal } from '@preact/signals';

import { partsAt, switched, switchNone, textOf, turn } from './switched.ts';
import type { Where } from './switched.ts';
import { t, told } from '../texts/texts.ts';

/** The chosen place, as its option's value: `''`, `encoder` or `encoder.2`. */
const place = signal('');

export function PartSwitch({ encoder, decoder }: { encoder: number; decoder: number }) {
  const stacks = ([['encoder', encoder] as const, ['decoder', decoder] as const]).filter(([, layers]) => layers > 0);
  const [stack, number] = place.value.split('.');
  const known = stacks.find(([name]) => name === stack);
  const layer = number === undefined ? null : Number(number);
  // another model may have fewer layers
  const where: Where =
    known === undefined || (layer !== null && layer >= known[1])
      ? { stack: null, layer: null }
      : { stack: known[0], layer };
  return (
    <fieldset class="choice">
      <legend>{t('Without a part?')}</legend>
      <div class="viewer__selects">
        <label class="viewer__select">
          <span>{t('Part of')}</span>
          <select
            value={[where.stack, where.layer].filter((word) => word !== null).join('.')}
            onChange={({ currentTarget: { value } }) => (place.value = value)}
          >
            <option value="">{t('the whole model')}</option>
            {stacks.map(([name, layers]) => (
              <optgroup label={told(name)} key={name}>
                <option value={name}>{told(`the ${name}`)}</option>
                {Array.from({ length: layers }, (_, index) => (
                  <option value={`${name}.${index}`} key={index}>
                    {t(name === 'encoder' ? 'encoder layer {number}' : 'decoder layer {number}', { number: index + 1 })}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </label>
      </div>
      <div class="head-switch">
        {partsAt(where).map((part) => {
          const text = textOf(where, part);
          return (
            <button
              type="button"
              class="chip"
              aria-pressed={switched.value.includes(text)}
              key={part.part}
              onClick={() => turn(text)}
            >
              {told(part.label)}
            </button>
          );
        })}
        {switched.value.length > 0 && (
          <button type="button" class="chip" onClick={switchNone}>
            {t('All parts on')}
          </button>
        )}
      </div>
    </fieldset>
  );
}
