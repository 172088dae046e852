/** What the picture shows, in plain words and as the paper writes it. */
export function Formula({ width }: { width: number | null }) {
  return (
    <div class="formula">
      <p>
        To write each word on the left, the decoder asks the whole source sentence where to look. A row is one
        question; the stronger a cell, the more of that source word went into the answer. A row adds up to 1.
      </p>
      <math display="block" aria-label="softmax of Q times K transposed, divided by the square root of d k">
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
          <mo>)</mo>
        </mrow>
      </math>
      <p class="quiet">
        Q comes from the words written so far, K from the source
        {width === null ? '' : `; a head compares ${width} numbers of each (dₖ\u00a0=\u00a0${width})`}. Each
        head learns to look in its own way.
      </p>
    </div>
  );
}
