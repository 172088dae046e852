/** The progress of a load, in words and as a share. */
import type { ProgressEvent } from 'wordloom';

import { t } from '../texts/texts.ts';

export interface Progress {
  /** `Fetching the model`, without numbers, so that it can be announced once. A key of the catalogue of texts. */
  step: string;
  /** `8.4 of 10.8 MB` */
  detail: string;
  /** null: unknown. */
  done: number | null;
  total: number;
}

export const STARTING: Progress = { step: 'Starting', detail: '', done: null, total: 1 };

/** null: an event that changes nothing. */
export function progressOf(event: ProgressEvent): Progress | null {
  switch (event.stage) {
    case 'download':
      return {
        step: event.fromCache ? 'Reading the model from this browser' : 'Fetching the model',
        detail: event.total > 0 ? megabytes(event.loaded, event.total) : megabytes(event.loaded),
        done: event.total > 0 ? event.loaded : null,
        total: event.total,
      };
    case 'weights':
      return {
        step: 'Moving the weights to the device',
        detail: megabytes(event.loaded, event.total),
        done: event.loaded,
        total: event.total,
      };
    case 'compile':
      return {
        step: 'Preparing the device',
        detail: t('{done} of {total} programs', { done: event.done, total: event.total }),
        done: event.done,
        total: event.total,
      };
    default:
      return null;
  }
}

export function megabytes(bytes: number, total?: number): string {
  const digits = (total ?? bytes) < 100e6 ? 1 : 0;
  const amount = (bytes / 1e6).toFixed(digits);
  return total === undefined ? `${amount} MB` : t('{amount} of {total} MB', { amount, total: (total / 1e6).toFixed(digits) });
}
