/** The two texts of a trace file, with highlights. */
import type { TracedSentence } from 'wordloom';

import { lit, segments } from './lit.ts';
import type { Span } from './lit.ts';
import { t } from '../texts/texts.ts';

export function TraceTexts({ sentence }: { sentence: TracedSentence }) {
  return (
    <div class="trace-texts">
      <p dir="auto">
        <span class="sr-only">{t('Source:')}{' '}</span>
        <Marked text={sentence.source} spans={lit.value.source} />
      </p>
      <p dir="auto">
        <span class="sr-only">{t('Translation:')}{' '}</span>
        <Marked text={sentence.target} spans={lit.value.target} />
      </p>
    </div>
  );
}

/** A text with highlights. */
export function Marked({ text, spans }: { text: string; spans: readonly Span[] }) {
  return (
    <>
      {segments(text, spans).map(({ text, level }, index) =>
        level === null ? (
          text
        ) : (
          <mark class={`lit lit--${level}`} key={index}>
            {text}
          </mark>
        ),
      )}
    </>
  );
}
