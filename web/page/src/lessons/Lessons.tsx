/** Eight short lessons on the reader's own sentence: a question to predict first, and the answer from the model's numbers. */
import { useEffect, useState } from 'preact/hooks';

import { messageOf } from '../engine/explain.ts';
import { running } from '../engine/load.ts';
import { interventions } from '../interventions.ts';
import { t } from '../texts/texts.ts';
import type { Text } from '../texts/texts.ts';
import { selected } from '../translation/selection.ts';
import { heads, mask, queryKeyValue, scale } from './attention.tsx';
import type { Ask, Question, Table } from './lesson.ts';
import { cross, positions, residual, search } from './model.tsx';

import './lessons.css';

const LESSONS: readonly { readonly title: Text; readonly tells: Text; readonly ask: Ask }[] = [
  {
    title: 'Query, key, value',
    tells: 'Attention is a soft look-up. From each token, three matrices make three vectors: a query (what it looks for), a key (what it can be found by) and a value (what it passes on). Where a query fits a key, q·k is large, and much of that token’s value is taken.',
    ask: queryKeyValue,
  },
  {
    title: 'The scale',
    tells: 'A dot product of long vectors is a sum of many terms, so it grows with their length. The softmax of large numbers is all or nothing, and then hardly anything can be learned. So the products are divided first.',
    ask: scale,
  },
  {
    title: 'The mask',
    tells: 'Some tokens must not be seen: those that are not written yet, and those that only fill up a batch. A mask hides them from the softmax.',
    ask: mask,
  },
  {
    title: 'Heads',
    tells: 'A single softmax can hardly look at two places for two reasons. So a layer has several heads, each in a space of its own, and each with a smaller width: together they cost as much as one.',
    ask: heads,
  },
  {
    title: 'Positions',
    tells: '“Dog bites man” and “man bites dog” have the same tokens. Attention treats its input as a set, so the model adds a pattern for each place to the embeddings.',
    ask: positions,
  },
  {
    title: 'Residual and norm',
    tells: 'Around every block, its input is added to its output. Then (or before) a norm brings the vector back to one scale. Without both, a deep stack is hard to train.',
    ask: residual,
  },
  {
    title: 'Encoder, decoder, cross-attention',
    tells: 'The encoder reads the whole sentence once. The decoder writes token by token; each of its layers looks back at its own words and then across at the encoder’s output.',
    ask: cross,
  },
  {
    title: 'Search',
    tells: 'The model gives probabilities, not a translation. A search chooses: token by token, or along several beginnings at once.',
    ask: search,
  },
];

export function Lessons() {
  const [index, setIndex] = useState(0);
  const lesson = LESSONS[index]!;
  return (
    <div class="lessons">
      <nav aria-label={t('Lessons')}>
        <ol class="lessons__list">
          {LESSONS.map(({ title }, at) => (
            <li key={title}>
              <button type="button" class="chip" aria-pressed={at === index} onClick={() => setIndex(at)}>
                <span class="number">{at + 1}</span> {t(title)}
              </button>
            </li>
          ))}
        </ol>
      </nav>
      <article class="lesson" aria-labelledby="lesson-title">
        <h3 id="lesson-title">{t(lesson.title)}</h3>
        <p>{t(lesson.tells)}</p>
        <Questions ask={lesson.ask} key={lesson.title} />
      </article>
    </div>
  );
}

/** The questions of a lesson about the selected sentence. */
function Questions({ ask }: { ask: Ask }) {
  const engine = running.value;
  const now = selected.value;
  const changed = interventions.value;
  const [asked, setAsked] = useState<readonly Question[] | string | null>(null);
  const { source, rank, hypothesis } = now ?? {};
  useEffect(() => {
    setAsked(null);
    if (engine === null || source === undefined || hypothesis === undefined || rank === undefined) return undefined;
    const controller = new AbortController();
    ask({ engine, source, rank, hypothesis, signal: controller.signal }).then(
      (questions) => controller.signal.aborted || setAsked(questions),
      (error: unknown) => controller.signal.aborted || setAsked(messageOf(error)),
    );
    return () => controller.abort();
  }, [engine, source?.source, hypothesis?.text, changed, ask]);
  if (now === null) return <p class="quiet">{t('Type a sentence above: the lessons ask about yours.')}</p>;
  if (typeof asked === 'string') {
    return (
      <p role="alert">
        {t('This model cannot show it:')} <bdi>{asked}</bdi>
      </p>
    );
  }
  if (asked === null) return <p class="quiet">{t('One moment …')}</p>;
  return (
    <>
      {asked.map((question, index) => (
        <Predict question={question} name={`lesson-${index}`} key={`${now.source.source}/${index}`} />
      ))}
    </>
  );
}

function Predict({ question, name }: { question: Question; name: string }) {
  const { asks, choices, right, says, table } = question;
  const [chosen, setChosen] = useState<number | null>(null);
  const [checked, setChecked] = useState(false);
  return (
    <form
      class="lesson__question"
      onSubmit={(event) => {
        event.preventDefault();
        if (chosen !== null) setChecked(true);
      }}
    >
      <fieldset>
        <legend>{asks}</legend>
        {choices.map((choice, index) => (
          <label
            class={checked && index === right ? 'lesson__choice is-right' : 'lesson__choice'}
            key={index}
          >
            <input
              type="radio"
              name={name}
              checked={index === chosen}
              disabled={checked}
              onChange={() => setChosen(index)}
            />
            <bdi>{choice}</bdi>
          </label>
        ))}
      </fieldset>
      {!checked && (
        <button type="submit" class="button" disabled={chosen === null}>
          {t('Check with the model')}
        </button>
      )}
      <div role="status" class="lesson__answer">
        {checked && (
          <>
            <p>
              <b>{chosen === right ? t('Right.') : t('Not here: the model says “{answer}”.', { answer: choices[right] ?? '' })}</b> {says}
            </p>
          </>
        )}
      </div>
      {checked && table !== undefined && <Numbers table={table} />}
    </form>
  );
}

const WORD = /\p{L}{2}/u;

function Numbers({ table: { name, columns, rows } }: { table: Table }) {
  const kinds = columns.map((_, column) => (rows.some((row) => WORD.test(row[column] ?? '')) ? 'is-words' : undefined));
  return (
    <div class="lesson__scroll" tabIndex={0} role="region" aria-label={name}>
      <table>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th scope="col" class={kinds[index]} key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...rest], index) => (
            <tr key={index}>
              <th scope="row">
                <bdi>{first}</bdi>
              </th>
              {rest.map((value, column) => (
                <td class={kinds[column + 1]} key={column}>
                  <bdi>{value}</bdi>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
