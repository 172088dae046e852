/** Every number of one attention, in the order of the paper. */
import type { AttentionKind, Explanation } from 'wordloom';
import { useMemo, useState } from 'preact/hooks';

import { head as headChoice, layer as layerChoice, row } from '../attention/choice.ts';
import { labelOf, queriesOf } from '../attention/labels.ts';
import { kindOnShow } from '../attention/traces.ts';
import type { Shown } from '../attention/traces.ts';
import { t, told, tx } from '../texts/texts.ts';
import { explanation, failure, followMicroscope, headOnShow, old, queryOnShow } from './explained.ts';
import { largest, shareOf } from './numbers.ts';
import { Step } from './Step.tsx';

import './microscope.css';

/** Tokens that are shown as buttons; more are a list. */
const MOST_BUTTONS = 60;
/** Steps that are open at first. */
const OPEN = ['softmax', 'logits'];

followMicroscope();

export function Microscope({ shown }: { shown: Shown }) {
  const now = explanation.value;
  const head = headOnShow.value;
  const of = kindOnShow.value;
  if (head === null || of === null) return null;
  return (
    <div class="scope">
      <div class="scope__choices">
        <Numbered label={t('Layer')} of={of.layers} value={head.layer} set={(value) => (layerChoice.value = value)} />
        <Numbered
          label={t('Head')}
          of={Array.from({ length: of.heads }, (_, index) => index)}
          value={head.head}
          set={(value) => (headChoice.value = value)}
        />
      </div>
      <Tokens shown={shown} kind={head.kind} />
      {failure.value !== null ? (
        <p role="alert">{failure.value}</p>
      ) : now === null ? (
        <p class="quiet">{t('One moment …')}</p>
      ) : (
        <div class={old.value ? 'scope__numbers is-old' : 'scope__numbers'} aria-busy={old.value} data-testid="microscope">
          <Said explanation={now} />
          {now.missing !== undefined && (
            <p class="quiet">
              {t("The trace lacks {count} taps of this layer; their steps are left out. With --tap '*', wordloom attend keeps all.", {
                count: now.missing.length,
              })}
            </p>
          )}
          <Kinds kind={now.head.kind} />
          <Steps explanation={now} />
        </div>
      )}
    </div>
  );
}

interface NumberedProps {
  readonly label: string;
  readonly of: readonly number[];
  readonly value: number;
  set(value: number): void;
}

function Numbered({ label, of, value, set }: NumberedProps) {
  return (
    <label class="viewer__select">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => set(Number(currentTarget.value))}>
        {of.map((number) => (
          <option value={number} key={number}>
            {number + 1}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The token that attends. */
function Tokens({ shown, kind }: { shown: Shown; kind: AttentionKind }) {
  const tokens = queriesOf(shown.sentence, kind);
  const chosen = queryOnShow.value;
  const label = kind === 'encoder' ? t('The token that is read') : t('The token that is written');
  if (tokens.length > MOST_BUTTONS) {
    return (
      <label class="viewer__select">
        <span>{label}</span>
        <select value={chosen} onChange={({ currentTarget }) => (row.value = Number(currentTarget.value))}>
          {tokens.map((token, index) => (
            <option value={index} key={index}>
              {`${index + 1}. ${labelOf(token)}`}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      <div class="scope__tokens">
        {tokens.map((token, index) => (
          <label class="scope__token" key={index}>
            <input type="radio" name="scope-token" checked={index === chosen} onChange={() => (row.value = index)} />
            <bdi>{labelOf(token)}</bdi>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** What the head does here, in a sentence. */
function Said({ explanation: { head, query, produces, keys, steps } }: { explanation: Explanation }) {
  const weights = steps.find(({ kind }) => kind === 'softmax')?.numbers[0]?.values ?? [];
  const most = largest(weights);
  const key = keys[most];
  const bold = (text: string) => (
    <b>
      <bdi>{text}</bdi>
    </b>
  );
  const values = {
    query: bold(query.label),
    produces: bold(produces?.label ?? ''),
    key: bold(key?.label ?? ''),
    share: <b class="number">{shareOf(weights[most] ?? 0)}</b>,
  };
  return (
    <p class="scope__said" role="status">
      {head.kind === 'encoder'
        ? tx('Reading {query}, this head takes most from {key}: {share} of the weight.', values)
        : tx('Having read {query}, the decoder is about to write {produces}. This head takes most from {key}: {share} of the weight.', values)}
    </p>
  );
}

const KINDS = [
  { kind: 'encoder', name: 'Encoder self-attention', queries: 'source', keys: 'source', mask: 'padding' },
  { kind: 'decoder', name: 'Decoder self-attention', queries: 'target so far', keys: 'target so far', mask: 'later tokens' },
  { kind: 'cross', name: 'Cross-attention', queries: 'target so far', keys: 'output of the encoder', mask: 'padding' },
] as const;

/** Where queries, keys and values come from: the three kinds side by side. */
function Kinds({ kind }: { kind: AttentionKind }) {
  return (
    <div class="scope__scroll" tabIndex={0} role="region" aria-label={t('The three kinds of attention')}>
      <table class="scope__table scope__kinds">
        <thead>
          <tr>
            <th scope="col">{t('Kind')}</th>
            <th scope="col">{t('Queries from')}</th>
            <th scope="col">{t('Keys and values from')}</th>
            <th scope="col">{t('The mask hides')}</th>
          </tr>
        </thead>
        <tbody>
          {KINDS.map((one) => (
            <tr class={one.kind === kind ? 'is-shown' : undefined} key={one.kind}>
              <th scope="row">
                {t(one.name)}
                {one.kind === kind && <span class="sr-only">{t(', shown here')}</span>}
              </th>
              <td>{t(one.queries)}</td>
              <td>{t(one.keys)}</td>
              <td>{t(one.mask)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Steps({ explanation }: { explanation: Explanation }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(OPEN));
  const { steps, sizes, normFirst, origin } = explanation;
  const all = useMemo(() => new Set<string>(steps.map(({ kind }) => kind)), [steps]);
  const isAll = open.size >= all.size;
  return (
    <>
      <p class="quiet">
        {told(origin)}{' '}
        {t('d_model {dModel}, {heads} heads of d_k {dK} and d_v {dV}, inner width {inner}.', {
          dModel: sizes.dModel,
          heads: sizes.heads,
          dK: sizes.dK,
          dV: sizes.dV,
          inner: sizes.ffnWidth,
        })}{' '}
        {normFirst ? t('The norm stands before the block.') : t('The norm stands after the block.')}{' '}
        {t('Sections are those of “Attention Is All You Need” unless another paper is named.')}
      </p>
      <p>
        <button type="button" class="chip" onClick={() => setOpen(isAll ? new Set() : all)}>
          {isAll ? t('Close all steps') : t('Open all steps')}
        </button>
      </p>
      <ol class="scope__steps">
        {steps.map((step, index) => (
          <Step
            explanation={explanation}
            step={step}
            number={index + 1}
            open={open.has(step.kind)}
            toggle={(isOpen) => {
              if (isOpen === open.has(step.kind)) return;
              const next = new Set(open);
              if (isOpen) next.add(step.kind);
              else next.delete(step.kind);
              setOpen(next);
            }}
            key={step.kind}
          />
        ))}
      </ol>
    </>
  );
}
