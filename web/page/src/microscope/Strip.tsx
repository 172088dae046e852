/** Vectors as strips of colour: orange below zero, blue above, paper at zero. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { StepNumbers } from 'wordloom';

import { t } from '../texts/texts.ts';
import { lengthOf, spread, written } from './numbers.ts';

/** Two colours that also differ for the colour-blind, and the colour of zero. */
const LIGHT = { below: [196, 92, 10], zero: [248, 247, 244], above: [44, 72, 196] } as const;
const DARK = { below: [240, 160, 70], zero: [38, 38, 42], above: [140, 156, 255] } as const;

interface StripProps {
  readonly numbers: StepNumbers;
  /** Values of a row; a matrix has a row for each key. */
  readonly width: number;
  /** Only a picture, with its numbers beside it. */
  readonly hidden?: boolean;
}

export function Strip({ numbers, width, hidden = false }: StripProps) {
  const { name, values } = numbers;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const rows = Math.max(1, Math.floor(values.length / Math.max(1, width)));
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  useLayoutEffect(() => {
    if (canvas.current !== null) paint(canvas.current, values, width, rows, dark ? DARK : LIGHT);
  }, [values, width, dark]);
  const [least, most] = spread(values);
  const label = t('{name}: {count} values from {least} to {most}, length {length}', {
    name,
    count: values.length,
    least: written(least),
    most: written(most),
    length: written(lengthOf(values)),
  });
  const point = ({ currentTarget, clientX, clientY }: PointerEvent): void => {
    const box = (currentTarget as Element).getBoundingClientRect();
    const column = Math.floor(((clientX - box.left) / box.width) * width);
    const row = Math.floor(((clientY - box.top) / box.height) * rows);
    setAt(Math.min(Math.max(row, 0), rows - 1) * width + Math.min(Math.max(column, 0), width - 1));
  };
  if (hidden) return <canvas class="scope__strip" ref={canvas} aria-hidden="true" />;
  return (
    <span class="scope__picture">
      <canvas
        class="scope__strip"
        style={{ '--rows': rows }}
        ref={canvas}
        role="img"
        aria-label={label}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setAt(null)}
      />
      <span class="quiet number" aria-hidden="true">
        {at === null
          ? t('{least} to {most}, length {length}', {
              least: written(least),
              most: written(most),
              length: written(lengthOf(values)),
            })
          : `${name}[${rows > 1 ? `${Math.floor(at / width)}, ` : ''}${at % width}] = ${written(values[at] ?? 0)}`}
      </span>
    </span>
  );
}

type Colours = typeof LIGHT | typeof DARK;

function paint(canvas: HTMLCanvasElement, values: Float32Array, width: number, rows: number, colours: Colours): void {
  canvas.width = Math.max(1, width);
  canvas.height = rows;
  const context = canvas.getContext('2d');
  if (context === null) return;
  const [least, most] = spread(values);
  const scale = Math.max(-least, most) || 1;
  const image = context.createImageData(canvas.width, rows);
  for (let at = 0; at < width * rows; at += 1) {
    const value = values[at] ?? 0;
    // the root shows small values, too
    const strength = Number.isFinite(value) ? Math.sqrt(Math.min(1, Math.abs(value) / scale)) : 0;
    const end = value < 0 ? colours.below : colours.above;
    for (let part = 0; part < 3; part += 1) {
      const zero = colours.zero[part]!;
      image.data[4 * at + part] = zero + (end[part]! - zero) * strength;
    }
    image.data[4 * at + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
