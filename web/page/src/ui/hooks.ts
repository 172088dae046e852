/** Hooks on the browser's observers. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

/** The width of an element, now and later. */
export function useSize(element: RefObject<HTMLElement | null>): { width: number } {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (element.current === null) return;
    setWidth(element.current.clientWidth);
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return { width };
}

/** Whether an element is on or near the screen. */
export function useNear(element: RefObject<HTMLElement | null>, start: boolean): boolean {
  const [near, setNear] = useState(start);
  useEffect(() => {
    if (element.current === null) return;
    // a busy page hears of several changes at once: the last one counts
    const observer = new IntersectionObserver((entries) => setNear(entries.at(-1)?.isIntersecting ?? true), {
      rootMargin: '300px',
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return near;
}

/** The newest value that is not null, to show while the next one is computed. */
export function useLast<T>(value: T | null): T | null {
  const last = useRef(value);
  if (value !== null) last.current = value;
  return last.current;
}
