/** The hypotheses of a sentence, best first; a click shows one in the translation. */
import { running } from '../engine/load.ts';
import { languages } from '../engine/source.ts';
import { choose, searchBeams, views } from '../translation/live.ts';
import { selected } from '../translation/selection.ts';
import { useLast } from './hooks.ts';
import { SentencePicker } from './SentencePicker.tsx';
import { t } from '../texts/texts.ts';

export function AlternativesPanel() {
  const last = useLast(selected.value);
  const now = views.value.length === 0 ? null : last;
  const choice = running.value?.choice;
  const code = choice === undefined ? null : languages(choice).target;
  const hypotheses = now?.source.hypotheses ?? [];
  return (
    <section class="panel" id="alternatives" aria-labelledby="alternatives-title">
      <div class="panel__head">
        <h2 id="alternatives-title">{t('Alternatives')}</h2>
        <SentencePicker />
      </div>
      {now === null ? (
        <p class="quiet">{t('They appear with the first translation.')}</p>
      ) : (
        <ol class="alternatives">
          {hypotheses.map(({ text, score }, rank) => (
            <li key={rank}>
              <button
                type="button"
                class="alternative"
                aria-pressed={rank === now.rank}
                onClick={() => choose(now.passage, now.sentence, rank)}
              >
                <span class="alternative__text" lang={code ?? undefined} dir="auto">
                  {text}
                </span>
                <span
                  class="alternative__score number"
                  title={t('Mean log-probability of a token: nearer to 0 is better')}
                >
                  <span class="sr-only">{t('score')}{' '}</span>
                  {score.toFixed(2).replace('-', '−')}
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
      {now !== null && searchBeams.value === 1 && (
        <p class="quiet panel__note">
          {t('Greedy search finds one translation. More beams, under the model’s name above, find more.')}
        </p>
      )}
    </section>
  );
}
