/** The translation, never markup. Only passages near the screen are drawn in detail, so a book costs no more than a page. */
import { memo } from 'preact/compat';
import { useMemo, useRef, useState } from 'preact/hooks';

import { running } from '../engine/load.ts';
import { changes } from '../muting/changes.ts';
import { interventions } from '../interventions.ts';
import { showAlternatives, showAttention, showConfidence, showSearch } from '../settings.ts';
import { calibrated, doubtOf } from '../translation/doubts.ts';
import { plainOf, views } from '../translation/live.ts';
import { oldTail } from '../translation/overlay.ts';
import { select, selected } from '../translation/selection.ts';
import type { View } from '../translation/views.ts';
import { viewText } from '../translation/views.ts';
import { Tokens, useTokenTip } from './Confidence.tsx';
import { useNear } from './hooks.ts';
import { t } from '../texts/texts.ts';

const CHUNK = 24;

export function Output({ lang, size }: { lang: string | null; size: string }) {
  const chunks = useChunks(views.value);
  const now = showAlternatives.value || showAttention.value || showSearch.value ? selected.value : null;
  const marked = now !== null && now.count > 1 ? now : null;
  const confident = showConfidence.value;
  const compared = interventions.value.length > 0;
  const tip = useTokenTip();
  return (
    <div
      class={`text output ${size}`}
      role="region"
      aria-label={running.value?.info.model.summarizes ? t('Summary') : t('Translation')}
      lang={lang ?? undefined}
      dir="auto"
      tabIndex={0}
      data-testid="output"
      onClick={(event) => {
        const sentence = (event.target as Element).closest<HTMLElement>('[data-sentence]');
        if (sentence === null) return;
        select({
          passage: Number(sentence.dataset['passage']),
          sentence: Number(sentence.dataset['sentence']),
        });
      }}
      {...(confident ? tip.handlers : {})}
    >
      {chunks.map((chunk, index) => {
        const first = index * CHUNK;
        const here = marked !== null && marked.passage >= first && marked.passage < first + CHUNK;
        return (
          <Chunk
            key={index}
            views={chunk}
            first={first}
            confident={confident}
            compared={compared}
            isCalibrated={calibrated.value}
            passage={here ? marked.passage : -1}
            sentence={here ? marked.sentence : -1}
          />
        );
      })}
      {confident && tip.element}
    </div>
  );
}

interface ChunkProps {
  readonly views: readonly View[];
  readonly first: number;
  readonly confident: boolean;
  /** Whether the model differs from the trained one, so that changes are marked. */
  readonly compared: boolean;
  readonly isCalibrated: boolean;
  /** The marked sentence; -1: none here. */
  readonly passage: number;
  readonly sentence: number;
}

const Chunk = memo(function Chunk(props: ChunkProps) {
  const { views, first, confident, compared, isCalibrated, passage, sentence } = props;
  const element = useRef<HTMLDivElement>(null);
  const near = useNear(element, first === 0);
  return (
    <div class="chunk" ref={element}>
      {near
        ? views.map((view, index) => (
            <Passage
              key={index}
              view={view}
              index={first + index}
              confident={confident}
              compared={compared}
              isCalibrated={isCalibrated}
              marked={first + index === passage ? sentence : -1}
            />
          ))
        : views.map((view) => viewText(view) + view.passage.end).join('')}
    </div>
  );
});

interface PassageProps {
  readonly view: View;
  readonly index: number;
  readonly confident: boolean;
  readonly compared: boolean;
  readonly isCalibrated: boolean;
  readonly marked: number;
}

const Passage = memo(function Passage({ view, index, confident, compared, isCalibrated, marked }: PassageProps) {
  const { translated, stable, provisional, old, passage } = view;
  if (translated === null) {
    return (
      <>
        {stable}
        {provisional !== '' && <span class="provisional">{provisional}</span>}
        <span class="old">{oldTail(stable + provisional, old)}</span>
        {passage.end}
      </>
    );
  }
  return (
    <>
      {translated.between[0]}
      {translated.sentences.map((sentence, number) => {
        const chosen = translated.chosen[number] ?? 0;
        const hypothesis = sentence.hypotheses[chosen];
        if (hypothesis === undefined) return null;
        const doubt = doubtOf(sentence, chosen, isCalibrated);
        return (
          <>
            <span
              class={`sentence${number === marked ? ' is-marked' : ''}${doubt === null ? '' : ' is-doubtful'}`}
              title={doubt === null ? undefined : t(doubt)}
              data-passage={index}
              data-sentence={number}
            >
              {confident ? (
                <Tokens hypothesis={hypothesis} />
              ) : compared ? (
                <Compared text={hypothesis.text} before={plainOf(index, number)?.text ?? null} />
              ) : (
                hypothesis.text
              )}
            </span>
            {translated.between[number + 1]}
          </>
        );
      })}
      {passage.end}
    </>
  );
});

/** A translation whose words are marked where they differ from the trained model's. */
function Compared({ text, before }: { text: string; before: string | null }) {
  if (before === null || before === text) return <>{text}</>;
  return (
    <>
      {changes(text, before).map(({ text, changed }, part) =>
        changed ? (
          <mark class="changed" title={t('As trained: {text}', { text: before })} key={part}>
            {text}
          </mark>
        ) : (
          text
        ),
      )}
    </>
  );
}

/** Cuts the views into chunks. An unchanged chunk stays the same array, so that it is not drawn again. */
function useChunks(all: readonly View[]): readonly (readonly View[])[] {
  const [kept] = useState<{ chunks: (readonly View[])[] }>({ chunks: [] });
  return useMemo(() => {
    const chunks: (readonly View[])[] = [];
    for (let first = 0; first < all.length; first += CHUNK) {
      const fresh = all.slice(first, first + CHUNK);
      const old = kept.chunks[chunks.length];
      const same = old?.length === fresh.length && fresh.every((view, index) => view === old[index]);
      chunks.push(same ? old : fresh);
    }
    kept.chunks = chunks;
    return chunks;
  }, [all]);
}
