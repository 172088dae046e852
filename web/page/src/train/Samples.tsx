/** Some pairs of the validation, with the model's answers. */
import { shownMoment } from './shown.ts';
import { t } from '../texts/texts.ts';

export function Samples() {
  const check = shownMoment.value?.check;
  if (check === undefined) return null;
  return (
    <div class="train__scroll" tabIndex={0} role="region" aria-label={t('Sample answers')}>
      <table class="samples">
        <thead>
          <tr>
            <th scope="col">{t('Input')}</th>
            <th scope="col">{t('Expected')}</th>
            <th scope="col">{t('Model’s answer')}</th>
            <th scope="col">
              <span class="sr-only">{t('Right or wrong')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {check.samples.map(({ source, expected, got }, index) => (
            <tr class={got === expected ? 'is-right' : ''} key={index}>
              <td>
                <bdi>{source}</bdi>
              </td>
              <td>
                <bdi>{expected}</bdi>
              </td>
              <td>
                <bdi>{got === '' ? '–' : got}</bdi>
              </td>
              <td class="samples__mark">
                <span aria-hidden="true">{got === expected ? '✓' : '·'}</span>
                <span class="sr-only">{got === expected ? t('right') : t('wrong')}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
