/** Pixels from the worker on a canvas. A picture stays until the next one arrives. */
import { useEffect } from 'preact/hooks';
import type { RefObject } from 'preact';
import type { GridChoice, MapChoice, MapView } from 'wordloom';

import { fail } from './traces.ts';
import type { Shown } from './traces.ts';

/** `view` is compared by content; null paints nothing. A view with an origin is a part of the map. */
export function usePainting(
  canvas: RefObject<HTMLCanvasElement | null>,
  shown: Shown | null,
  choice: MapChoice | GridChoice,
  view: MapView | null,
): void {
  const key = JSON.stringify([choice, view]);
  useEffect(() => {
    if (shown === null || view === null) return undefined;
    const controller = new AbortController();
    shown.trace.paint(choice, view, { signal: controller.signal }).then(
      ({ width, height, rgba }) => {
        const element = canvas.current;
        if (controller.signal.aborted || element === null) return;
        element.width = width;
        element.height = height;
        element.getContext('2d')?.putImageData(new ImageData(rgba, width, height), 0, 0);
        place(element, view);
        element.dataset['painted'] = key;
      },
      (error: unknown) => fail(error, shown),
    );
    return () => controller.abort();
  }, [shown, key]);
}

/** Lays the picture of a part of a map over its cells; another one fills its element. */
function place({ style }: HTMLElement, { origin, cell: [across, down], width, height }: MapView): void {
  const cells = (count: number): string => (origin === undefined ? '' : `calc(${count} * var(--cell))`);
  const [column, row] = origin ?? [0, 0];
  style.position = origin === undefined ? '' : 'absolute';
  [style.left, style.top] = [cells(column), cells(row)];
  [style.width, style.height] = [cells(width / across), cells(height / down)];
}

/** The largest side of a canvas in all browsers. */
export const LARGEST_CANVAS = 8192;
