/** The legend of colours. */
import { mapScale } from '../settings.ts';
import { map } from './traces.ts';
import { useColours } from './use-colours.ts';
import { t } from '../texts/texts.ts';

const STOPS = 16;

export function Legend({ ends }: { ends?: readonly [string, string] }) {
  const colours = useColours();
  if (colours === null) return null;
  const stops = Array.from({ length: STOPS }, (_, index) => {
    const at = 3 * Math.round((index / (STOPS - 1)) * 255);
    return `rgb(${colours[at]} ${colours[at + 1]} ${colours[at + 2]})`;
  });
  const [from, to] = ends ?? endsOf(mapScale.value);
  return (
    <div class="legend" aria-hidden="true">
      <span class="number">{from}</span>
      <span class="legend__ramp" style={{ background: `linear-gradient(to right, ${stops.join(', ')})` }} />
      <span class="number">{to}</span>
    </div>
  );
}

function endsOf(scale: string): readonly [string, string] {
  if (scale === 'logarithmic') return ['0.0001', '1'];
  if (scale === 'rows') return ['0', t('a row’s most')];
  // a very long text's numbers stay in the worker
  if (map.value?.weights.length === 0) return ['0', t('the map’s most')];
  const largest = map.value?.weights.reduce((most, weight) => Math.max(most, weight), 0) ?? 1;
  return ['0', largest.toFixed(2)];
}
