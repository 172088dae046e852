/** Whether a map that is too long for cells on the screen is enlarged to cells, and where. */
import { useLayoutEffect, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

import type { Cell } from './choice.ts';

export interface Zoom {
  /** The enlarged cell; null: the map is small. */
  readonly place: Cell | null;
  /** Enlarges the map around a cell. */
  into(place: Cell | null): void;
  out(): void;
}

/** `side`: of an enlarged cell, in pixels. */
export function useZoom(scroll: RefObject<HTMLElement | null>, side: number): Zoom {
  const [place, setPlace] = useState<Cell | null>(null);
  useLayoutEffect(() => {
    const box = scroll.current;
    if (box === null || place === null) return;
    box.scrollLeft = (place.column ?? 0) * side - box.clientWidth / 3;
    box.scrollTop = place.row * side - box.clientHeight / 3;
  }, [place]);
  return {
    place,
    into: (at) => setPlace(at ?? { row: 0, column: 0 }),
    out: () => setPlace(null),
  };
}
