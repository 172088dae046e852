/** The check of the GPU: its progress and its result, which later visits keep to. */
import { signal } from '@preact/signals';
import type { DeviceCheck } from 'wordloom/check';

import { passOver } from '../settings.ts';
import { reload } from './load.ts';

export type CheckState =
  | { readonly kind: 'running'; readonly fraction: number }
  | { readonly kind: 'finished'; readonly result: DeviceCheck }
  | { readonly kind: 'failed'; readonly message: string };

/** null: there was no check on this visit. */
export const deviceCheck = signal<CheckState | null>(null);

export async function checkGpu(): Promise<void> {
  if (deviceCheck.peek()?.kind === 'running') return;
  deviceCheck.value = { kind: 'running', fraction: 0 };
  try {
    const { checkDevice } = await import('wordloom/check');
    const result = await checkDevice({
      device: 'gpu',
      onProgress: (fraction) => (deviceCheck.value = { kind: 'running', fraction }),
    });
    const before = names(passOver.peek());
    passOver.value = result.passOver;
    deviceCheck.value = { kind: 'finished', result };
    // models that are ready use the kernels of before
    if (names(result.passOver) !== before) await reload();
  } catch (error) {
    deviceCheck.value = { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

function names(kernels: DeviceCheck['passOver'] | null): string {
  return kernels === null ? '' : [...kernels.wrong, ...kernels.slow].sort().join();
}
