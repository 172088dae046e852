/** One step: title, formula with shapes, reason, and its numbers while it is open. */
import { useState } from 'preact/hooks';
import type { ExplainedStep, ExplainedToken, Explanation, StepNumbers } from 'wordloom';

import { t, told } from '../texts/texts.ts';
import { written } from './numbers.ts';
import { Strip } from './Strip.tsx';
import { Values } from './Values.tsx';
import { Candidates, Weights } from './Weights.tsx';

interface StepProps {
  readonly explanation: Explanation;
  readonly step: ExplainedStep;
  readonly number: number;
  readonly open: boolean;
  toggle(open: boolean): void;
}

export function Step({ explanation, step, number, open, toggle }: StepProps) {
  const result = step.numbers.findLast(({ shape }) => shape.length > 0);
  return (
    <li>
      <details class="scope__step" open={open} onToggle={({ currentTarget }) => toggle(currentTarget.open)}>
        <summary>
          <span class="scope__title">
            <span class="number">{number}.</span> {told(step.title)}
          </span>
          <span class="scope__section quiet">{step.section}</span>
          <code class="scope__formula">{told(step.formula)}</code>
          {!open && result !== undefined && <Strip numbers={result} width={result.shape.at(-1) ?? 1} hidden />}
        </summary>
        {open && (
          <div class="scope__body">
            <p>{told(step.why)}</p>
            <Numbers explanation={explanation} step={step} />
          </div>
        )}
      </details>
    </li>
  );
}

function Numbers({ explanation, step }: { explanation: Explanation; step: ExplainedStep }) {
  if (step.kind === 'logits') return <Candidates explanation={explanation} />;
  const scalars = step.numbers.filter(({ shape }) => shape.length === 0);
  return (
    <>
      {step.kind === 'softmax' && <Weights explanation={explanation} />}
      {scalars.length > 0 && (
        <dl class="scope__scalars">
          {scalars.map(({ name, values }, index) => (
            <div key={index}>
              <dt>{name}</dt>
              <dd class="number">{written(values[0] ?? 0)}</dd>
            </div>
          ))}
        </dl>
      )}
      {step.numbers
        .filter(({ shape }) => shape.length > 0)
        .map((numbers, index) => (
          <Vector numbers={numbers} keys={explanation.keys} key={index} />
        ))}
    </>
  );
}

function Vector({ numbers, keys }: { numbers: StepNumbers; keys: readonly ExplainedToken[] }) {
  const [open, setOpen] = useState(false);
  const { name, shape } = numbers;
  return (
    <div class="scope__vector">
      <span class="scope__name">
        <b>{name}</b> <span class="quiet number">[{shape.join(', ')}]</span>
      </span>
      <Strip numbers={numbers} width={shape.at(-1) ?? 1} />
      <button
        type="button"
        class="chip"
        aria-expanded={open}
        aria-label={t('Numbers of {name}', { name })}
        onClick={() => setOpen(!open)}
      >
        {t('Numbers')}
      </button>
      {open && <Values numbers={numbers} keys={keys} />}
    </div>
  );
}
