/** The numbers of a vector or a matrix as tables. A page of them at a time, so that no table is slow. */
import { useState } from 'preact/hooks';
import type { ExplainedToken, StepNumbers } from 'wordloom';

import { BackIcon, NextIcon } from '../ui/icons.tsx';
import { t } from '../texts/texts.ts';
import { written } from './numbers.ts';

const COLUMNS = 8;
const PAGE = 128;

/** The values of a vector, or of one row of a matrix. */
export function Values({ numbers, keys }: { numbers: StepNumbers; keys: readonly ExplainedToken[] }) {
  const { name, shape, values } = numbers;
  const width = shape.at(-1) ?? 1;
  const [row, setRow] = useState(0);
  const [start, setStart] = useState(0);
  const rows = shape.length === 2 ? shape[0]! : 1;
  const from = start < width ? start : 0;
  const chosen = row < rows ? row : 0;
  const shown = values.subarray(chosen * width + from, chosen * width + Math.min(width, from + PAGE));
  const lines = Array.from({ length: Math.ceil(shown.length / COLUMNS) }, (_, line) => line);
  return (
    <div class="scope__values">
      {rows > 1 && (
        <label class="viewer__select">
          <span>{t('Row of {name}', { name })}</span>
          <select value={chosen} onChange={({ currentTarget }) => setRow(Number(currentTarget.value))}>
            {keys.slice(0, rows).map(({ label, position }, index) => (
              <option value={index} key={index}>
                {`${position + 1}. ${label}`}
              </option>
            ))}
          </select>
        </label>
      )}
      <div class="scope__scroll" tabIndex={0} role="region" aria-label={t('All values of {name}', { name })}>
        <table class="scope__table">
          <thead>
            <tr>
              <td />
              {Array.from({ length: Math.min(COLUMNS, shown.length) }, (_, column) => (
                <th scope="col" key={column}>
                  +{column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line}>
                <th scope="row">{from + line * COLUMNS}</th>
                {[...shown.subarray(line * COLUMNS, (line + 1) * COLUMNS)].map((value, column) => (
                  <td key={column}>{written(value)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {width > PAGE && <Pager name={t('Values')} from={from} size={PAGE} count={width} set={setStart} />}
    </div>
  );
}

interface PagerProps {
  readonly name: string;
  readonly from: number;
  readonly size: number;
  readonly count: number;
  set(from: number): void;
}

export function Pager({ name, from, size, count, set }: PagerProps) {
  return (
    <div class="stepper" role="group" aria-label={name}>
      <button
        type="button"
        class="icon-button"
        aria-label={t('Values before')}
        disabled={from === 0}
        onClick={() => set(Math.max(0, from - size))}
      >
        <BackIcon />
      </button>
      <span class="number">{t('{first} to {last} of {count}', { first: from, last: Math.min(count, from + size) - 1, count })}</span>
      <button
        type="button"
        class="icon-button"
        aria-label={t('Next values')}
        disabled={from + size >= count}
        onClick={() => set(from + size)}
      >
        <NextIcon />
      </button>
    </div>
  );
}
