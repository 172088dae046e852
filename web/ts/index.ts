/** The package in a browser. */
import { bundledAvailability, type Availability, type LanguagePair } from './availability.js';
import { bundledModel } from './bundled-model.js';
import { openInBrowser } from './open.js';
import { TranslatorBase } from './translator.js';
import type { CreateOptions } from './types.js';

export * from './types.js';
export { DOCUMENT_ENDINGS } from './document-endings.js';
export { openTrace } from './open.js';
export { Trace } from './trace.js';
export { WordloomError, type ErrorKind } from './errors.js';
export { describeHubModel, type HubModel } from './hub-model.js';
export { type HubName, hubName } from './hub-name.js';
export { type ListedModel, type ModelList, readModelList } from './model-list.js';
export { removeStoredModel, type StoredModel, storedModels } from './stored-models.js';
export type { Availability, LanguagePair } from './availability.js';

export class Translator extends TranslatorBase {
  /** Loads a model (default: the bundled one, English to German) and opens a device. */
  static async create(options: CreateOptions = {}): Promise<Translator> {
    const { client, info } = await openInBrowser(options, bundledModel());
    return new Translator(client, info);
  }

  /** Whether the bundled model translates this pair, and whether the browser has the model already. */
  static availability(pair: LanguagePair = {}): Promise<Availability> {
    return bundledAvailability(pair);
  }
}
