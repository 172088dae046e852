/** The choice of the task, and the knobs of model and recipe. */
import { KNOBS, knobs, pastedPairs, preNorm, task, TASKS } from './setup.ts';
import type { Knob } from './setup.ts';
import { t, told } from '../texts/texts.ts';

export function Setup({ locked }: { locked: boolean }) {
  const chosen = TASKS.find(({ id }) => id === task.value);
  return (
    <fieldset class="setup" disabled={locked}>
      <legend class="sr-only">{t('What is learned, and how')}</legend>
      <div class="choice__list" role="radiogroup" aria-label={t('Task')}>
        {TASKS.map(({ id, label }) => (
          <label class="choice__item" key={id}>
            <input type="radio" name="train-task" checked={id === task.value} onChange={() => (task.value = id)} />
            <span>{told(label)}</span>
          </label>
        ))}
      </div>
      <p class="quiet">{chosen !== undefined && told(chosen.hint)}</p>
      {task.value === 'pairs' && (
        <textarea
          class="setup__pairs"
          aria-label={t('Pairs: on each line a text, a tab or an arrow, and its answer')}
          rows={8}
          spellcheck={false}
          value={pastedPairs.value}
          onInput={(event) => (pastedPairs.value = event.currentTarget.value)}
        />
      )}
      <details class="setup__more">
        <summary>{t('Model and recipe')}</summary>
        <div class="setup__knobs">
          {KNOBS.map((knob) => (
            <KnobSlider knob={knob} key={knob.id} />
          ))}
          <NormChoice />
        </div>
        <p class="quiet">{t('Sections are those of “Attention Is All You Need” (Vaswani et al. 2017).')}</p>
      </details>
    </fieldset>
  );
}

function KnobSlider({ knob: { id, label, hint, values } }: { knob: Knob }) {
  const value = knobs.value[id];
  return (
    <div class="slider">
      <label for={`knob-${id}`}>{told(label)}</label>
      <output class="number" for={`knob-${id}`}>
        {value}
      </output>
      <input
        id={`knob-${id}`}
        type="range"
        min={0}
        max={values.length - 1}
        value={values.indexOf(value)}
        aria-valuetext={String(value)}
        aria-describedby={`knob-${id}-hint`}
        onInput={(event) => {
          const next = values[Number(event.currentTarget.value)];
          if (next !== undefined) knobs.value = { ...knobs.peek(), [id]: next };
        }}
      />
      <p class="quiet" id={`knob-${id}-hint`}>
        {told(hint)}
      </p>
    </div>
  );
}

function NormChoice() {
  return (
    <div class="setup__norm">
      <span id="knob-norm">{t('Norms')}</span>
      <div class="choice__list" role="radiogroup" aria-labelledby="knob-norm" aria-describedby="knob-norm-hint">
        {[false, true].map((before) => (
          <label class="choice__item" key={String(before)}>
            <input
              type="radio"
              name="train-norm"
              checked={preNorm.value === before}
              onChange={() => (preNorm.value = before)}
            />
            <span>{before ? t('Before the sublayer') : t('After the sum')}</span>
          </label>
        ))}
      </div>
      <p class="quiet" id="knob-norm-hint">
        {t('Layer norms after each residual sum, as in section 3.1, or before each sublayer, which trains more calmly.')}
      </p>
    </div>
  );
}
