/** The chosen colour map as a table of 256 colours, for what is drawn here. */
import { useEffect, useState } from 'preact/hooks';

import { mapColours } from '../settings.ts';
import { shown } from './traces.ts';

export function useColours(): Uint8Array | null {
  const name = mapColours.value;
  const trace = shown.value?.trace ?? null;
  const [table, setTable] = useState<{ readonly name: string; readonly colours: Uint8Array } | null>(null);
  useEffect(() => {
    let stopped = false;
    // an engine that goes away takes the colours along; the next one has them again
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
