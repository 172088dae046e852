/** The two texts, side by side. */
import { useRef } from 'preact/hooks';

import { useSharedScroll } from './scroll.ts';
import { Source } from './Source.tsx';
import { Target } from './Target.tsx';

export function Desk() {
  const desk = useRef<HTMLDivElement>(null);
  useSharedScroll(desk);
  return (
    <div class="desk" ref={desk}>
      <Source />
      <Target />
    </div>
  );
}
