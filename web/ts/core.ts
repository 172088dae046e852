/** The package without the bundled model, for smaller builds. */
import { openInBrowser } from './open.js';
import { TranslatorBase } from './translator.js';
import type { CreateOptions, ModelSource } from './types.js';

export * from './types.js';
export { openTrace } from './open.js';
export { Trace } from './trace.js';
export { WordloomError, type ErrorKind } from './errors.js';

export class Translator extends TranslatorBase {
  /** Loads a model and opens a device. */
  static async create(options: CreateOptions & { model: ModelSource }): Promise<Translator> {
    const { client, info } = await openInBrowser(options, undefined);
    return new Translator(client, info);
  }
}
