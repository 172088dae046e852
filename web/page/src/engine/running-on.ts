/** The engine's notice of its device, as a sentence in the language of the page. */
import { sentence } from '../words.ts';
import { t, told } from '../texts/texts.ts';

/** `Running on CPU (asked for).` of `running on CPU (asked for)`. */
export function runningOn(notice: string): string {
  const [, device, reason] = /^running on (.+) \(([^()]+)\)$/.exec(notice) ?? [];
  if (device === undefined || reason === undefined) return sentence(notice);
  return t('Running on {device} ({reason}).', { device, reason: told(reason) });
}
