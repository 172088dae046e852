/** The package without the bundled model, for smaller builds. */
import { openInBrowser } from './open.js';
import { TranslatorBase } from './translator.js';
import type { CreateOptions, ModelSource } from './types.js';

export * from './types.js';
export { DOCUMENT_ENDINGS } from './document-endings.js';
export { openTrace } from './open.js';
export { Trace } from './trace.js';
export { WordloomError, type ErrorKind } from './errors.js';
export { describeHubModel, type HubModel } from './hub-model.js';
export { type HubName, hubName } from './hub-name.js';
export { type ListedModel, type ModelList, readModelList } from './model-list.js';
export { removeStoredModel, type StoredModel, storedModels } from './stored-models.js';

export class Translator extends TranslatorBase {
  /** Loads a model and opens a device. */
  static async create(options: CreateOptions & { model: ModelSource }): Promise<Translator> {
    const { client, info } = await openInBrowser(options, undefined);
    return new Translator(client, info);
  }
}
