/** The tab "Train": a small model learns a task while the reader watches. */
import { zipSync } from 'fflate';
import { useEffect, useState } from 'preact/hooks';

import { download } from '../attention/download.ts';
import { messageOf } from '../engine/explain.ts';
import { Curve } from './Curve.tsx';
import { Maps } from './Maps.tsx';
import {
  followVisibility,
  forget,
  go,
  kept,
  lookAtShelf,
  moments,
  pause,
  phase,
  points,
  problem,
  seconds,
  start,
  takeUp,
  trainer,
} from './run.ts';
import { Samples } from './Samples.tsx';
import { Setup } from './Setup.tsx';
import { TASKS } from './setup.ts';
import { t, told } from '../texts/texts.ts';

import '../styles/train.css';

// once: a training goes on while its reader translates
followVisibility();

export function TrainTab() {
  useEffect(() => {
    if (phase.peek() === 'idle') void lookAtShelf();
  }, []);
  const begun = moments.value.length > 0;
  return (
    <div class="train">
      <section class="panel train__setup" aria-label={t('Task and recipe')}>
        <div class="panel__head">
          <h2>{t('Train a small model')}</h2>
        </div>
        <p class="quiet train__lead">
          {t('A Transformer with random weights learns a task here, in this browser. Press Start and watch.')}
        </p>
        <Setup locked={phase.value !== 'idle'} />
        <Controls />
        <p class="sr-only" role="status">
          {spoken()}
        </p>
      </section>
      <section class="panel" aria-label={t('Course of the training')}>
        <div class="panel__head">
          <h2>{t('Course')}</h2>
          <State />
        </div>
        <Curve />
        {begun && <Samples />}
      </section>
      {begun && (
        <section class="panel train__maps" aria-label={t('Attention while it learns')}>
          <div class="panel__head">
            <h2>{t('Attention while it learns')}</h2>
          </div>
          <Maps />
        </section>
      )}
      {begun && <TryOut />}
    </div>
  );
}

function Controls() {
  const now = phase.value;
  return (
    <div class="train__controls">
      {now === 'idle' && (
        <button type="button" class="button train__start" onClick={() => void start()}>
          {t('Start')}
        </button>
      )}
      {now === 'idle' && kept.value !== null && (
        <button type="button" class="button" onClick={() => void takeUp()}>
          {t('Go on with “{task}”, step {step}', { task: labelOf(kept.value.task), step: kept.value.step.toLocaleString('en') })}
        </button>
      )}
      {now === 'starting' && (
        <button type="button" class="button train__start" disabled>
          {t('Starting …')}
        </button>
      )}
      {now === 'running' && (
        <button type="button" class="button train__start" onClick={pause}>
          {t('Pause')}
        </button>
      )}
      {now === 'paused' && (
        <button type="button" class="button train__start" onClick={() => void go()}>
          {t('Go on')}
        </button>
      )}
      {(now === 'paused' || now === 'running') && (
        <>
          <button type="button" class="button" onClick={() => void saveFolder()}>
            {t('Download the model')}
          </button>
          <button type="button" class="button" onClick={() => void forget()}>
            {t('Start over')}
          </button>
        </>
      )}
      {problem.value !== null && (
        <p class="train__problem" role="alert">
          {problem.value}
        </p>
      )}
    </div>
  );
}

function State() {
  const info = trainer.value?.info;
  const last = moments.value.at(-1)?.check;
  const point = points.value.at(-1);
  if (info === undefined) return null;
  const parts = [
    point !== undefined &&
      t('Step {step}, loss {loss}', { step: point.step.toLocaleString('en'), loss: point.loss.toFixed(3) }),
    last !== undefined && t('{right} of {count} right', { right: last.right, count: last.count }),
    t('{seconds} s on the {device}', {
      seconds: Math.round(seconds.value),
      device: info.device.kind === 'gpu' ? 'GPU' : 'CPU',
    }),
    t('{count} parameters', { count: info.parameters.toLocaleString('en') }),
    !info.holdsOut && t('so few pairs are both learned and validated'),
  ];
  return (
    <p class="quiet number" data-testid="train-state">
      {parts.filter((part) => part !== false).join(', ')}
    </p>
  );
}

/** An input of the reader's own. */
function TryOut() {
  const [input, setInput] = useState('');
  const [answer, setAnswer] = useState<string | null>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (input.trim() === '') return;
    trainer.peek()?.predict(input).then(
      (text) => setAnswer(text === '' ? t('The model says nothing.') : text),
      (error: unknown) => setAnswer(messageOf(error)),
    );
  };
  return (
    <section class="panel" aria-label={t('Try it')}>
      <div class="panel__head">
        <h2>{t('Try it')}</h2>
      </div>
      <form class="options__row" onSubmit={submit}>
        <input
          class="field"
          type="text"
          aria-label={t('An input for the model')}
          placeholder={moments.value[0]?.check.samples[0]?.source ?? ''}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={input}
          onInput={(event) => setInput(event.currentTarget.value)}
        />
        <button type="submit" class="button">
          {t('Ask')}
        </button>
      </form>
      <p class="train__answer" role="status" data-testid="train-answer">
        <bdi>{answer ?? ''}</bdi>
      </p>
    </section>
  );
}

async function saveFolder(): Promise<void> {
  const now = trainer.peek();
  if (now === null) return;
  try {
    const files = await now.save();
    const named = Object.entries(files).map(([name, bytes]) => [`wordloom-trained/${name}`, bytes] as const);
    // weights hardly shrink, so nothing is compressed
    const zip = zipSync(Object.fromEntries(named), { level: 0 });
    download(new Blob([zip], { type: 'application/zip' }), 'wordloom-trained.zip');
  } catch (error) {
    problem.value = messageOf(error);
  }
}

/** The state for screen readers: not each step. */
function spoken(): string {
  const check = moments.value.at(-1)?.check;
  const done = check !== undefined && check.right === check.count ? ` ${t('All validation answers are right.')}` : '';
  switch (phase.value) {
    case 'idle':
      return '';
    case 'starting':
      return t('The training starts.');
    case 'running':
      return t('The model is training.') + done;
    case 'paused':
      return t('The training is paused.') + done;
  }
}

function labelOf(id: string): string {
  const label = TASKS.find((one) => one.id === id)?.label;
  return label === undefined ? id : told(label);
}
