/** The statistics of every head of a kind, when they are ready. */
import { useEffect, useState } from 'preact/hooks';
import type { AttentionKind, HeadStatistics } from 'wordloom';

import { fail } from './traces.ts';
import type { Shown } from './traces.ts';

export function useNumbers(shown: Shown | null, kind: AttentionKind): readonly HeadStatistics[] | null {
  const [numbers, setNumbers] = useState<{
    readonly of: Shown;
    readonly kind: AttentionKind;
    readonly heads: readonly HeadStatistics[];
  } | null>(null);
  useEffect(() => {
    if (shown === null) return undefined;
    const controller = new AbortController();
    shown.trace
      .statistics({ kind, sentence: shown.index }, { signal: controller.signal })
      .then(
        (heads) => controller.signal.aborted || setNumbers({ of: shown, kind, heads }),
        (error: unknown) => fail(error, shown),
      );
    return () => controller.abort();
  }, [shown, kind]);
  return numbers !== null && numbers.of === shown && numbers.kind === kind ? numbers.heads : null;
}
