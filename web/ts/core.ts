/** The package without the bundled model: for those who have their own, and want no other in their build. */
import { directChannel, workerChannel } from './channel.js';
import type { WireSource } from './protocol.js';
import { toWire } from './source.js';
import { connect, TranslatorBase } from './translator.js';
import type { CreateOptions, ModelSource } from './types.js';

export * from './types.js';
export { WordloomError, type ErrorKind } from './errors.js';

export class Translator extends TranslatorBase {
  /** Loads a model and opens a device. */
  static async create(options: CreateOptions & { model: ModelSource }): Promise<Translator> {
    const { client, info } = await open(options, undefined);
    return new Translator(client, info);
  }
}

/** @internal */
export async function open(options: CreateOptions, bundled: WireSource | undefined) {
  const wire = toWire(options, bundled, globalThis.location.href);
  return connect(options.worker === false ? directChannel : workerChannel, wire, options);
}
