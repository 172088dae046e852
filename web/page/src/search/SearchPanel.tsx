/** The search for a translation: its tree, its ranking under another length penalty, and branches to continue from. */
import { useMemo } from 'preact/hooks';

import { running } from '../engine/load.ts';
import { languages } from '../engine/source.ts';
import { glossaryOption } from '../translation/glossary.ts';
import { views } from '../translation/live.ts';
import { SentencePicker } from '../ui/SentencePicker.tsx';
import { penalty, PENALTIES, ranking, release, searched, searching, signed, wordsOf } from './searches.ts';
import type { Ranked, Searched } from './searches.ts';
import { Tree } from './Tree.tsx';
import { TreeTable } from './TreeTable.tsx';
import { t, tx } from '../texts/texts.ts';

const MOST_RANKED = 6;

export function SearchPanel() {
  const now = views.value.length === 0 ? null : searched.value;
  return (
    <section class="panel" id="search" aria-labelledby="search-title" aria-busy={searching.value}>
      <div class="panel__head">
        <h2 id="search-title">{t('Search')}</h2>
        <SentencePicker />
      </div>
      {now === null ? <p class="quiet">{t('The tree appears with the first translation.')}</p> : <Whole searched={now} />}
    </section>
  );
}

function Whole({ searched }: { searched: Searched }) {
  const { tree, prefix } = searched;
  const power = penalty.value ?? tree.lengthPenalty;
  const ranked = useMemo(() => ranking(tree, power), [tree, power]);
  return (
    <div class="search">
      {prefix.length > 0 && (
        <div class="search__forced" role="status">
          <p>
            {tx('Made to begin with “{words}”', { words: <bdi>{wordsOf(prefix)}</bdi> })}
          </p>
          <button type="button" class="button" onClick={release}>
            {t('Back to the free search')}
          </button>
        </div>
      )}
      {glossaryOption.value.glossary !== undefined && (
        <p class="quiet">{t('This is the search without your glossary.')}</p>
      )}
      <Tree searched={searched} best={ranked[0]?.index ?? null} power={power} stale={searching.value} />
      <div class="search__ranking">
        <label class="search__penalty">
          <span>{t('Length penalty')}</span>
          <input
            type="range"
            min={PENALTIES.least}
            max={PENALTIES.most}
            step={PENALTIES.step}
            value={power}
            onInput={(event) => (penalty.value = Number(event.currentTarget.value))}
          />
          <span class="number" aria-hidden="true">
            {signed(power, 1)}
          </span>
        </label>
        {penalty.value !== null && penalty.value !== tree.lengthPenalty && (
          <button type="button" class="chip" onClick={() => (penalty.value = null)}>
            {t('As the search: {penalty}', { penalty: signed(tree.lengthPenalty, 1) })}
          </button>
        )}
      </div>
      <Hypotheses ranked={ranked} prefix={wordsOf(prefix)} />
      <p class="quiet">
        {ranked.length === 1
          ? t('The search finished one hypothesis.')
          : t('The search finished {count} hypotheses.', { count: ranked.length })}{' '}
        {t('A hypothesis of n tokens scores the sum of its log-probabilities, divided by n to the power of the penalty: a larger one favours long translations.')}
      </p>
      <TreeTable searched={searched} power={power} key={searched.source} />
    </div>
  );
}

function Hypotheses({ ranked, prefix }: { ranked: readonly Ranked[]; prefix: string }) {
  const choice = running.value?.choice;
  const code = choice === undefined ? null : languages(choice).target;
  return (
    <ol class="search__hypotheses" aria-label={t('Finished hypotheses, best first')}>
      {ranked.slice(0, MOST_RANKED).map(({ index, node, score }) => {
        const text = node.text ?? '';
        const forced = prefix !== '' && text.startsWith(prefix) ? prefix.length : 0;
        return (
          <li key={index}>
            <span class="search__text" lang={code ?? undefined} dir="auto">
              {forced > 0 && <mark class="search__prefix">{text.slice(0, forced)}</mark>}
              {text.slice(forced)}
            </span>
            <span class="quiet number">
              {node.step === 1 ? t('1 token') : t('{count} tokens', { count: node.step })}
            </span>
            <span class="search__score number">
              <span class="sr-only">{t('score')}{' '}</span>
              {signed(score)}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
