/** The chosen colour map as a table of 256 colours. */
import { useEffect, useState } from 'preact/hooks';

import { mapColours } from '../settings.ts';
import { shown } from './traces.ts';

export function useColours(): Uint8Array | null {
  const name = mapColours.value;
  const trace = shown.value?.trace ?? null;
  const [table, setTable] = useState<{ readonly name: string; readonly colours: Uint8Array } | null>(null);
  useEffect(() => {
    let stopped = false;
    // if the engine ends, the next one gives the colours again
    trace?.colours(name).then(
      (colours) => stopped || setTable({ name, colours }),
      () => {},
    );
    return () => {
      stopped = true;
    };
  }, [trace, name]);
  return table?.colours ?? null;
}
