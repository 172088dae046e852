/** The course of the loss and of the accuracy, over steps. */
import { useRef } from 'preact/hooks';

import { t } from '../texts/texts.ts';
import { useSize } from '../ui/hooks.ts';
import { chosenMoment, moments, points } from './run.ts';

const HEIGHT = 200;
const LEFT = 36;
const RIGHT = 40;
const TOP = 12;
const BOTTOM = 26;

export function Curve() {
  const frame = useRef<HTMLDivElement>(null);
  const { width } = useSize(frame);
  const course = points.value;
  const checks = moments.value.map(({ check }) => check);
  const lastStep = Math.max(1, course.at(-1)?.step ?? 1);
  const most = niceAbove(course.reduce((high, { loss }) => Math.max(high, loss), 0.5));
  const x = (step: number): number => LEFT + (step / lastStep) * Math.max(0, width - LEFT - RIGHT);
  const y = (share: number): number => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
  const line = (all: readonly { step: number }[], share: (index: number) => number): string =>
    all.map(({ step }, index) => `${index === 0 ? 'M' : 'L'}${x(step).toFixed(1)} ${y(share(index)).toFixed(1)}`).join('');
  const at = chosenMoment.value === null ? undefined : moments.value[chosenMoment.value]?.check;
  return (
    <div class="curve" ref={frame}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={describe(course.at(-1), checks.at(-1))}>
          {[0, 0.5, 1].map((share) => (
            <g key={share}>
              <line class="curve__rule" x1={LEFT} x2={width - RIGHT} y1={y(share)} y2={y(share)} />
              <text class="curve__text" x={LEFT - 6} y={y(share)} text-anchor="end">
                {(share * most).toFixed(most < 2 ? 2 : 1)}
              </text>
              <text class="curve__text" x={width - RIGHT + 6} y={y(share)}>
                {share * 100} %
              </text>
            </g>
          ))}
          <text class="curve__text" x={LEFT} y={HEIGHT - 8}>
            0
          </text>
          <text class="curve__text" x={width - RIGHT} y={HEIGHT - 8} text-anchor="end">
            {course.length > 0 ? t('step {step}', { step: lastStep.toLocaleString('en') }) : ''}
          </text>
          <path class="curve__loss" d={line(course, (index) => (course[index]?.loss ?? 0) / most)} />
          <path
            class="curve__right"
            d={line(checks, (index) => (checks[index]?.right ?? 0) / (checks[index]?.count ?? 1))}
          />
          {at !== undefined && <line class="curve__now" x1={x(at.step)} x2={x(at.step)} y1={y(1)} y2={y(0)} />}
        </svg>
      )}
      <p class="curve__legend quiet">
        <span class="curve__key curve__key--loss">{t('Loss of a symbol, nats')}</span>
        <span class="curve__key curve__key--right">{t('Answers that are right, validation')}</span>
      </p>
    </div>
  );
}

function describe(
  point: { step: number; loss: number } | undefined,
  check: { right: number; count: number } | undefined,
): string {
  if (point === undefined) return t('The curve of the loss: no step yet.');
  const right = check === undefined ? '' : ` ${t('{right} of {count} answers are right.', { right: check.right, count: check.count })}`;
  const { step, loss } = point;
  return t('The curve of the loss: {loss} at step {step}.', { loss: loss.toFixed(3), step }) + right;
}

/** A round number that is not smaller. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
