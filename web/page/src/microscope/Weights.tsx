/** Product, score, masked score and weight of each key; the most probable tokens. */
import { useState } from 'preact/hooks';
import type { Explanation } from 'wordloom';

import { t } from '../texts/texts.ts';
import { shareOf, written } from './numbers.ts';
import { Pager } from './Values.tsx';

/** Keys of a page. */
const PAGE = 40;

export function Weights({ explanation: { keys, steps } }: { explanation: Explanation }) {
  const [start, setStart] = useState(0);
  const of = (kind: string): ArrayLike<number> => steps.find((step) => step.kind === kind)?.numbers[0]?.values ?? [];
  const [products, scores, masked, weights] = [of('products'), of('scale'), of('mask'), of('softmax')];
  const most = Array.prototype.reduce.call(weights, (a, b) => Math.max(a as number, b as number), 0) as number;
  const from = start < keys.length ? start : 0;
  return (
    <>
      <div class="scope__scroll" tabIndex={0} role="region" aria-label={t('Scores and weights of each key')}>
        <table class="scope__table">
          <thead>
            <tr>
              <th scope="col">{t('key')}</th>
              <th scope="col">q·k</th>
              <th scope="col">{t('scaled')}</th>
              <th scope="col">{t('masked')}</th>
              <th scope="col">{t('weight')}</th>
            </tr>
          </thead>
          <tbody>
            {keys.slice(from, from + PAGE).map(({ label }, offset) => {
              const at = from + offset;
              return (
                <tr key={at}>
                  <th scope="row">
                    <bdi>{label}</bdi>
                  </th>
                  <td>{written(products[at] ?? 0)}</td>
                  <td>{written(scores[at] ?? 0)}</td>
                  <td>{written(masked[at] ?? 0)}</td>
                  <td class="numbers__share" style={{ '--share': (weights[at] ?? 0) / (most || 1) }}>
                    {written(weights[at] ?? 0)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {keys.length > PAGE && <Pager name={t('Keys')} from={from} size={PAGE} count={keys.length} set={setStart} />}
    </>
  );
}

export function Candidates({ explanation: { candidates } }: { explanation: Explanation }) {
  return (
    <div class="scope__scroll" tabIndex={0} role="region" aria-label={t('Most probable tokens')}>
      <table class="scope__table">
        <thead>
          <tr>
            <th scope="col">{t('token')}</th>
            <th scope="col">{t('logit')}</th>
            <th scope="col">{t('probability')}</th>
          </tr>
        </thead>
        <tbody>
          {candidates.map(({ id, piece, logit, probability }) => (
            <tr key={id}>
              <th scope="row">
                <bdi>{piece.replace(/^▁/u, '')}</bdi>
              </th>
              <td>{written(logit)}</td>
              <td class="numbers__share" style={{ '--share': probability / (candidates[0]?.probability || 1) }}>
                {shareOf(probability)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
