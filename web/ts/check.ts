/** The check of a GPU in a browser: every kernel against the CPU, then searches, pictures and a training. */
import { checkFunction, oneOf, onlyOptions } from './check-input.js';
import type { DeviceCheck } from './check-types.js';
import { Client } from './client.js';
import { trainChannel } from './train-channel.js';
import type { CallOptions } from './types.js';

export type { DeviceCheck, PassOver } from './check-types.js';
export { WordloomError, type ErrorKind } from './errors.js';

/** Options of `checkDevice`. */
export interface CheckOptions extends CallOptions {
  /** `auto` (default): a hardware GPU. `gpu` also takes software adapters, where a check takes a minute or more. */
  device?: 'auto' | 'gpu';
  /** Gets the finished part, 0 to 1. */
  onProgress?: (fraction: number) => void;
}

/**
 * Compares every kernel of a GPU with the CPU, in a worker of its own. Keep the result's `passOver`, and give it to
 * `Translator.create`: a kernel that is wrong on this device then never runs.
 */
export async function checkDevice(options: CheckOptions = {}): Promise<DeviceCheck> {
  onlyOptions(options, ['device', 'signal', 'onProgress']);
  const { device = 'auto', signal, onProgress } = options ?? {};
  oneOf('device', device, ['auto', 'gpu']);
  checkFunction(onProgress, 'onProgress');
  const client = new Client(trainChannel('A check'), undefined);
  try {
    return await client.call('checkDevice', device, signal, onProgress ?? (() => {}));
  } finally {
    client.destroy('The check was stopped.');
  }
}
