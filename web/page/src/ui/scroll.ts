/** Both texts scroll together: the text that the user scrolls leads, and the other follows by the same share of its length. */
import { useEffect } from 'preact/hooks';
import type { RefObject } from 'preact';

/** Events that make a text the leading one. */
const HANDS = ['pointerover', 'pointerdown', 'focusin', 'keydown', 'wheel'];

export function useSharedScroll(desk: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const frame = desk.current;
    if (frame === null) return;
    let leader: Element | null = null;
    const lead = (event: Event): void => {
      leader = (event.target as Element).closest('.text');
    };
    const follow = ({ target }: Event): void => {
      if (leader === null || target !== leader) return;
      const room = leader.scrollHeight - leader.clientHeight;
      for (const other of frame.querySelectorAll('.text')) {
        if (other === leader || room <= 0) continue;
        other.scrollTop = (leader.scrollTop / room) * (other.scrollHeight - other.clientHeight);
      }
    };
    // in the capture phase, because scroll events do not bubble and the texts are replaced
    for (const hand of HANDS) frame.addEventListener(hand, lead, { capture: true, passive: true });
    frame.addEventListener('scroll', follow, { capture: true, passive: true });
    return () => {
      for (const hand of HANDS) frame.removeEventListener(hand, lead, { capture: true });
      frame.removeEventListener('scroll', follow, { capture: true });
    };
  }, []);
}
