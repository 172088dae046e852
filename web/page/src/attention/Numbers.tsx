/** Statistics and a name for every head: a sortable table, and a chart of the sorted column. */
import { useMemo, useState } from 'preact/hooks';
import type { HeadStatistics } from 'wordloom';

import { open } from './choice.ts';
import { headName, kindName } from './labels.ts';
import { kindOnShow } from './traces.ts';
import type { Shown } from './traces.ts';
import { useNumbers } from './use-numbers.ts';
import { t, told } from '../texts/texts.ts';

type Column = Exclude<keyof HeadStatistics, 'fullRank' | 'spectrum'>;

interface Described {
  readonly name: Column;
  readonly label: string;
  readonly hint: string;
  /** Whether it is a share from 0 to 1, which a bar can show. */
  readonly share: boolean;
}

export const COLUMNS: readonly Described[] = [
  { name: 'layer', label: 'Layer', hint: '', share: false },
  { name: 'head', label: 'Head', hint: '', share: false },
  { name: 'label', label: 'Looks like', hint: 'A name for what stands out', share: false },
  { name: 'entropy', label: 'Entropy', hint: 'In nats: 0 is one key', share: false },
  { name: 'relativeEntropy', label: 'Of uniform', hint: 'Entropy, as a share of looking at all alike', share: true },
  { name: 'confidence', label: 'Confidence', hint: 'On the key that is looked at most', share: true },
  { name: 'distance', label: 'Distance', hint: 'How far away it looks, in tokens', share: false },
  { name: 'diagonal', label: 'Own place', hint: 'On the token’s own place', share: true },
  { name: 'previous', label: 'Previous', hint: 'On the place before', share: true },
  { name: 'next', label: 'Next', hint: 'On the place after', share: true },
  { name: 'special', label: 'End', hint: 'On tokens without text, such as the end', share: true },
  { name: 'punctuation', label: 'Signs', hint: 'On punctuation', share: true },
  { name: 'rare', label: 'Rarest', hint: 'On the rarest token', share: true },
  { name: 'components', label: 'Components', hint: 'Fewest that hold 90 % of the variance', share: false },
];

export function Numbers({ shown }: { shown: Shown }) {
  const of = kindOnShow.value;
  const heads = useNumbers(shown, of?.kind ?? 'cross');
  const [order, setOrder] = useState<{ by: Column; down: boolean }>({ by: 'layer', down: false });
  const sorted = useMemo(() => (heads === null ? null : sort(heads, order.by, order.down)), [heads, order]);
  if (of === null) return null;
  if (sorted === null || heads === null) return <p class="quiet">{t('Counting …')}</p>;
  // these columns have no chart
  const name = order.by === 'label' || order.by === 'layer' || order.by === 'head' ? 'confidence' : order.by;
  return (
    <div class="numbers">
      <Chart heads={heads} name={name} />
      <div class="numbers__scroll" tabIndex={0} role="region" aria-label={t('Numbers of {name}', { name: kindName(of.kind) })}>
        <table class="numbers__table">
          <thead>
            <tr>
              {COLUMNS.map(({ name, label, hint }) => {
                const sorts = order.by === name;
                return (
                  <th
                    scope="col"
                    aria-sort={sorts ? (order.down ? 'descending' : 'ascending') : 'none'}
                    class={name === 'label' ? 'is-words' : undefined}
                    key={name}
                  >
                    <button
                      type="button"
                      title={hint === '' ? undefined : told(hint)}
                      // the first click sorts the largest first
                      onClick={() => setOrder({ by: name, down: sorts ? !order.down : descends(name) })}
                    >
                      {told(label)}
                      <span aria-hidden="true">{sorts ? (order.down ? ' ↓' : ' ↑') : ''}</span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {sorted.map((one) => (
              <tr key={`${one.layer}/${one.head}`}>
                {COLUMNS.map((column) => (
                  <Value one={one} column={column} key={column.name} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="quiet">{t('Means over the tokens that have a choice. A single sentence says little about a head.')}</p>
    </div>
  );
}

function Value({ one, column: { name, share } }: { one: HeadStatistics; column: Described }) {
  if (name === 'label') {
    return (
      <td class="is-words">
        <button
          type="button"
          class="numbers__open"
          aria-label={t('Open {head}: {label}', { head: headName(one.layer, one.head), label: told(one.label) })}
          onClick={() => open({ layer: one.layer, head: one.head })}
        >
          {told(one.label)}
        </button>
      </td>
    );
  }
  const value = one[name];
  const whole = name === 'layer' || name === 'head' ? value + 1 : value;
  if (name === 'components') {
    return (
      <td>
        <Curve shares={one.spectrum} />
        {`${one.components} / ${one.fullRank}`}
      </td>
    );
  }
  const text = name === 'layer' || name === 'head' ? whole : value.toFixed(2);
  return (
    <td class={share ? 'numbers__share' : undefined} style={share ? { '--share': value } : undefined}>
      {text}
    </td>
  );
}

/** The share of the variance that the first 1, 2, 3, … components hold. */
function Curve({ shares }: { shares: readonly number[] }) {
  const points = [0, ...shares].map((share, count) => `${(36 * count) / Math.max(1, shares.length)},${14 - 13 * share}`);
  return (
    <svg class="numbers__curve" width="36" height="15" viewBox="0 0 36 15" aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  );
}

const BAR = 11;
const HIGH = 64;

/** A bar for each head, by layer. */
function Chart({ heads, name }: { heads: readonly HeadStatistics[]; name: Exclude<Column, 'label'> }) {
  const most = heads.reduce((largest, one) => Math.max(largest, one[name]), 0) || 1;
  const layers = [...new Set(heads.map(({ layer }) => layer))];
  const label = COLUMNS.find((column) => column.name === name)?.label ?? name;
  return (
    <figure class="numbers__chart">
      <figcaption>{t('{label} of each head, layer by layer', { label: told(label) })}</figcaption>
      <div class="numbers__layers">
        {layers.map((layer) => {
          const own = heads.filter((one) => one.layer === layer);
          return (
            <div class="numbers__layer" key={layer}>
              <svg width={own.length * BAR} height={HIGH} role="img" aria-label={t('Layer {number}', { number: layer + 1 })}>
                {own.map((one, index) => (
                  <rect
                    x={index * BAR}
                    y={HIGH - Math.max(1, (one[name] / most) * HIGH)}
                    width={BAR - 2}
                    height={Math.max(1, (one[name] / most) * HIGH)}
                    rx="2"
                    onClick={() => open({ layer: one.layer, head: one.head })}
                    key={one.head}
                  >
                    <title>{`${headName(one.layer, one.head)}: ${one[name].toFixed(2)}`}</title>
                  </rect>
                ))}
              </svg>
              <span class="quiet number">{layer + 1}</span>
            </div>
          );
        })}
      </div>
    </figure>
  );
}

function descends(name: Column): boolean {
  return name !== 'layer' && name !== 'head' && name !== 'label';
}

function sort(heads: readonly HeadStatistics[], by: Column, down: boolean): readonly HeadStatistics[] {
  const sign = down ? -1 : 1;
  return [...heads].sort((a, b) => {
    const [one, other] = [a[by], b[by]];
    const difference =
      typeof one === 'string' || typeof other === 'string'
        ? String(one).localeCompare(String(other), 'en')
        : one - other;
    return difference === 0 ? a.layer - b.layer || a.head - b.head : sign * difference;
  });
}
