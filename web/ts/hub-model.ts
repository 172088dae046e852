/** What the hub says about a model, before it is downloaded. */
import { checkSignal, onlyOptions, shown } from './check-input.js';
import { abortedBy } from './client.js';
import { WordloomError } from './errors.js';
import { hubName, hubText } from './hub-name.js';
import { describe, expectedFiles } from './loading/hub.js';
import { toWire } from './source.js';
import type { CallOptions, CreateOptions } from './types.js';

/** What the hub says of a model. */
export interface HubModel {
  /** The `model` option that opens it. */
  model: string;
  commit: string;
  /** Bytes of the files that would be downloaded; `null` if the hub does not say. */
  bytes: number | null;
  /** `model_type`, and the licence and languages of its card, if the hub names them. */
  family: string | null;
  licence: string | null;
  languages: string[];
}

export const DESCRIBE_OPTIONS = ['endpoint', 'token', 'signal'];

/** Asks the hub about a model, `owner/name` or `owner/name@revision`. It downloads no file. */
export async function describeHubModel(
  model: string,
  options: CallOptions & Pick<CreateOptions, 'endpoint' | 'token'> = {},
): Promise<HubModel> {
  onlyOptions(options, DESCRIBE_OPTIONS);
  const { signal = new AbortController().signal, ...rest } = options ?? {};
  checkSignal(signal);
  if (signal.aborted) throw abortedBy(signal);
  if (typeof model !== 'string' || !hubName(model)) throw new WordloomError('input', `${shown(model)} is no name of the hub: owner/name.`);
  const { source } = toWire({ ...rest, model }, undefined, globalThis.location?.href ?? 'file:///');
  if (source.from !== 'hub') throw new WordloomError('internal', `${model} has become no name of the hub.`);
  const { commit, files, family, licence = null, languages } = await describe(source, signal);
  const bytes = expectedFiles(files, family).reduce((sum, [, size]) => sum + size, 0) || null;
  return { model: hubText(source), commit, bytes, family: family ?? null, licence, languages };
}
