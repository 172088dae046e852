/** The tree as a table, for screen readers. */
import { useState } from 'preact/hooks';

import { tokenLabel } from '../translation/tokens.ts';
import { pathTo, percent, scoreOf, signed, wordsOf } from './searches.ts';
import type { Searched } from './searches.ts';
import { t, told } from '../texts/texts.ts';

/** Number of rows drawn at once; a long search has thousands. */
const ROWS = 100;
const COLUMNS = ['Step', 'After', 'Token', 'Probability', 'Sum of logarithms', 'What became of it'];
const WORDS = ['After', 'Token', 'What became of it'];

export function TreeTable({ searched, power }: { searched: Searched; power: number }) {
  const [open, setOpen] = useState(false);
  const [count, setCount] = useState(ROWS);
  const { tree, prefix } = searched;
  return (
    <details class="tree-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('The tree as a table')}</summary>
      {open && (
        <div class="tree-table__scroll" tabIndex={0} role="region" aria-label={t('The tree as a table')}>
          <table class="numbers__table">
            <thead>
              <tr>
                {COLUMNS.map((name) => (
                  <th scope="col" class={WORDS.includes(name) ? 'is-words' : undefined} key={name}>
                    {told(name)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {tree.nodes.slice(0, count).map((node, index) => (
                <tr key={index}>
                  <td>{node.step}</td>
                  <td class="is-words">
                    <bdi>
                      {wordsOf([
                        ...prefix,
                        ...pathTo(tree, index)
                          .slice(0, -1)
                          .flatMap((at) => tree.nodes[at] ?? []),
                      ])}
                    </bdi>
                  </td>
                  <td class="is-words">
                    <bdi>{tokenLabel(node)}</bdi>
                  </td>
                  <td>{percent(Math.exp(node.logProbability))}</td>
                  <td>{signed(node.sum)}</td>
                  <td class="is-words">
                    {node.fate === 'finished' ? t('finished, {score}', { score: signed(scoreOf(node, power)) }) : told(node.fate)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {count < tree.nodes.length && (
            <button type="button" class="button" onClick={() => setCount(count + ROWS)}>
              {t('More rows')}
            </button>
          )}
        </div>
      )}
    </details>
  );
}
