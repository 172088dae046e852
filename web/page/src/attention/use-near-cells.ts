/** The part of a long row of tokens that is drawn. */
import { useEffect, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

/** Number of labels beyond the screen. */
const AHEAD = 12;

/** The rows and columns on or near the screen, in steps, so that scrolling rarely draws. */
export function useNearCells(
  element: RefObject<HTMLElement | null>,
  side: number,
): { rows: readonly [number, number]; columns: readonly [number, number] } {
  const [near, setNear] = useState<readonly number[]>([0, 60, 0, 60]);
  useEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    const look = (): void => {
      const range = (start: number, length: number): number[] => {
        const first = Math.max(0, Math.floor(start / side / AHEAD) * AHEAD - AHEAD);
        return [first, Math.ceil((start + length) / side / AHEAD) * AHEAD + AHEAD];
      };
      const next = [...range(box.scrollTop, box.clientHeight), ...range(box.scrollLeft, box.clientWidth)];
      setNear((old) => (next.every((value, index) => value === old[index]) ? old : next));
    };
    look();
    box.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(box);
    return () => {
      box.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, [side]);
  const [firstRow = 0, lastRow = 0, firstColumn = 0, lastColumn = 0] = near;
  return { rows: [firstRow, lastRow], columns: [firstColumn, lastColumn] };
}
