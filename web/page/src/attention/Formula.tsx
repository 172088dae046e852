/** Each kind of attention, in plain words and as the paper's formula. */
import type { AttentionKind } from 'wordloom';
import { t, told } from '../texts/texts.ts';

const WORDS: Record<AttentionKind, string> = {
  encoder:
    'Reading, the encoder lets each source token look at source tokens before and after it, all of them or those near it, ' +
    'and take from them what it means here. A row is one token that looks; the brighter a cell, the more of that token it takes. A row adds up to 1.',
  decoder:
    'Writing, the decoder looks back at what it has written so far. A row is one token that is being written; what comes ' +
    'later does not exist yet, so that everything above the diagonal is empty. A row adds up to 1.',
  cross:
    'To write each token on the left, the decoder asks the whole source sentence where to look. A row is one question; ' +
    'the brighter a cell, the more of that source token went into the answer. A row adds up to 1.',
};

const FROM: Record<AttentionKind, string> = {
  encoder: 'Q, K and V all come from the source',
  decoder: 'Q, K and V all come from the tokens written so far; the mask M is 0 for those and −∞ for later ones',
  cross: 'Q comes from the tokens written so far, K and V from the source',
};

export function Formula({ kind, width }: { kind: AttentionKind; width: number | null }) {
  const masked = kind === 'decoder';
  return (
    <div class="formula">
      <p>{told(WORDS[kind])}</p>
      <math
        display="block"
        aria-label={t(
          masked
            ? 'softmax of Q times K transposed, divided by the square root of d k, plus the mask M; that times V'
            : 'softmax of Q times K transposed, divided by the square root of d k; that times V',
        )}
      >
        <mi>softmax</mi>
        <mspace width="0.15em" />
        <mrow>
          <mo>(</mo>
          <mfrac>
            <mrow>
              <mi>Q</mi>
              <msup>
                <mi>K</mi>
                <mi>T</mi>
              </msup>
            </mrow>
            <msqrt>
              <msub>
                <mi>d</mi>
                <mi>k</mi>
              </msub>
            </msqrt>
          </mfrac>
          {masked && (
            <>
              <mo>+</mo>
              <mi>M</mi>
            </>
          )}
          <mo>)</mo>
        </mrow>
        <mspace width="0.15em" />
        <mi>V</mi>
      </math>
      <p class="quiet">
        {t('The map is the softmax.')} {told(FROM[kind])}
        {width === null ? '' : t('; a head compares {width} numbers of each (dₖ = {width})', { width })}.{' '}
        {t('Each head learns to look in its own way.')}
      </p>
    </div>
  );
}

/** The formula of the position table, as in the paper. */
export function PositionFormula() {
  const wave = (name: string, column: string) => (
    <mtr>
      <mtd>
        <mrow>
          <mi>PE</mi>
          <mo>(</mo>
          <mi>p</mi>
          <mo>,</mo>
          <mi>{column}</mi>
          <mo>)</mo>
          <mo>=</mo>
          <mi>{name}</mi>
          <mo>(</mo>
          <mfrac>
            <mi>p</mi>
            <msup>
              <mn>10000</mn>
              <mrow>
                <mn>2</mn>
                <mi>i</mi>
                <mo>/</mo>
                <mi>d</mi>
              </mrow>
            </msup>
          </mfrac>
          <mo>)</mo>
        </mrow>
      </mtd>
    </mtr>
  );
  return (
    <div class="formula">
      <p>
        {t('Attention itself knows no order: to it, a sentence is a bag of words. So a pattern of waves is added to each token’s numbers, another one for each place.')}
      </p>
      <math display="block" aria-label={t('Sine and cosine of the position p over ten thousand to the power of 2 i over d')}>
        <mtable>
          {wave('sin', '2i')}
          {wave('cos', '2i+1')}
        </mtable>
      </math>
    </div>
  );
}
