import { loading } from '../engine/load.ts';
import { languageName } from '../engine/languages.ts';
import { megabytes } from '../engine/progress.ts';
import { reverse, swap } from '../models/pick.ts';
import { SwapIcon } from './icons.tsx';
import { t } from '../texts/texts.ts';

/** Swaps the languages. It is there only if a model of the reverse direction is here or can be had. */
export function SwapButton() {
  const wanted = reverse.value;
  if (wanted === null) return null;
  const { offer, source, target } = wanted;
  const names = [source, target].map((tag) => languageName(tag) ?? tag).join(' → ');
  const size = offer.bytes === null ? t('a model') : megabytes(offer.bytes);
  const words = offer.here ? t('Swap: {names}', { names }) : t('Swap: {names} (downloads {size})', { names, size });
  return (
    <button
      type="button"
      class="icon-button swap"
      aria-label={words}
      title={words}
      disabled={loading.value !== null}
      onClick={() => void swap()}
    >
      <SwapIcon />
    </button>
  );
}
