/** The columns on or near the screen, in steps, so that scrolling rarely draws. */
import { useEffect, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

const AHEAD = 4;

export function useNearColumns(
  element: RefObject<HTMLElement | null>,
  column: number,
  before: number,
): readonly [number, number] {
  const [near, setNear] = useState<readonly [number, number]>([0, 16]);
  useEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    const look = (): void => {
      const step = column * AHEAD;
      const first = Math.max(0, Math.floor((box.scrollLeft - before) / step) * AHEAD - AHEAD);
      const last = Math.ceil((box.scrollLeft + box.clientWidth - before) / step) * AHEAD + AHEAD;
      setNear((old) => (old[0] === first && old[1] === last ? old : [first, last]));
    };
    look();
    box.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(box);
    return () => {
      box.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, [column, before]);
  return near;
}
