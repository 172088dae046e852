/** A model on the network: its files, their storage, and the order of downloads. */
import { WordloomError } from '../errors.js';
import type { HostFile } from '../wordloom_web.js';
import type { Address } from './address.js';
import { Download } from './download.js';
import { hasTargetVocabulary, type OpenFolder, shardsOf, textFiles, WEIGHTS } from './folder.js';
import { NotFound } from './http.js';
import type { ModelCache } from './model-cache.js';
import type { Manifest } from './manifest.js';

export interface RemoteOptions {
  address: Address;
  modelCache: ModelCache;
  manifest: Manifest;
  signal: AbortSignal;
}

export async function openRemoteFolder(options: RemoteOptions): Promise<OpenFolder> {
  const { address, modelCache } = options;
  const files: Download[] = [];
  const close = () => {
    for (const file of files) file.close();
    modelCache.close();
  };
  try {
    const small = await receiveSmall(options, files);
    const weights = await openWeights(options, files, small);
    await modelCache.checkRoom(files.reduce((sum, file) => sum + file.size - file.loaded, 0));
    const complete = receiveWeights(options, weights);
    complete.catch(() => {}); // Callers await it; the engine gets the failure through `arrived`.
    const failure = () => weights.find((file) => file.failure !== undefined)?.failure;
    return { host: { label: address.label, files: files satisfies HostFile[] }, complete, failure, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Receives everything except the weights. The two configuration files name the files that text needs. */
async function receiveSmall(options: RemoteOptions, files: Download[]): Promise<Map<string, Download>> {
  const found = new Map<string, Download>();
  const get = async (name: string, optional: boolean) => {
    const file = await receive(options, name, optional);
    if (!file) return;
    files.push(file);
    found.set(name, file);
  };
  const missingText: unknown[] = [];
  const getText = (name: string) =>
    get(name, false).catch((error: unknown) => {
      if (!(error instanceof NotFound)) throw error;
      missingText.push(error);
    });
  await settled([
    get('config.json', false),
    get('generation_config.json', true),
    get('tokenizer_config.json', true),
  ]);
  const [config, tokenizer] = ['config.json', 'tokenizer_config.json'].map((name) => whole(found.get(name)));
  // Without them, the model still takes token ids.
  const text = textFiles(config, tokenizer);
  await settled(text.map(getText));
  if (missingText.length > 0 && missingText.length === text.length) {
    options.modelCache.progress.warn(`${options.address.label} has no ${text.join(', ')}: it takes token ids, but no text.`);
  } else if (missingText.length > 0) {
    throw missingText[0];
  }
  if (hasTargetVocabulary(tokenizer)) await get('target_vocab.json', true);
  return found;
}

function whole(file: Download | undefined): Uint8Array | undefined {
  return file?.read(0, file.size);
}

/** The weights' files with their lengths, in the order of download. */
async function openWeights(
  options: RemoteOptions,
  files: Download[],
  small: Map<string, Download>,
): Promise<Download[]> {
  const open = async (name: string, method: 'GET' | 'HEAD') => {
    const file = await options.modelCache.download(name, options);
    files.push(file);
    try {
      await options.modelCache.opened(file, method);
      return file;
    } catch (error) {
      if (error instanceof NotFound) {
        files.splice(files.indexOf(file), 1);
        await options.modelCache.failed(file, error);
      }
      throw error;
    }
  };
  let first: NotFound | undefined;
  for (const { single, index } of WEIGHTS) {
    try {
      if (options.address.lists(single) !== false) return [await open(single, 'GET')];
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      first ??= error;
    }
    const shards = await receive(options, index, true);
    if (!shards) continue;
    files.push(shards);
    small.set(index, shards);
    return openShards(options, shards, open);
  }
  const names = WEIGHTS.map(({ single }) => single).join(' or ');
  const shards = WEIGHTS.map(({ index }) => index).join(' or ');
  const what = `${options.address.label} has no weights that are read here: no ${names}, and no ${shards}`;
  throw new WordloomError('network', `${what}.${first ? ` ${first.message}` : ''}`, { cause: first });
}

async function openShards(
  options: RemoteOptions,
  index: Download,
  open: (name: string, method: 'GET' | 'HEAD') => Promise<Download>,
): Promise<Download[]> {
  const names = shardsOf(index.read(0, index.size));
  if (names.length === 0) {
    throw new WordloomError('input', `${options.address.url(index.name)} lists no weights.`);
  }
  const shards: Download[] = [];
  await settled(
    names.map(async (name, at) => {
      shards.push(await open(name, at === 0 ? 'GET' : 'HEAD'));
    }),
  );
  return shards.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function receive(options: RemoteOptions, name: string, optional: boolean): Promise<Download | undefined> {
  const { address, modelCache } = options;
  if (optional && address.lists(name) === false) return undefined;
  const file = await modelCache.download(name, options);
  try {
    await modelCache.opened(file, 'GET');
    await file.receive();
    await modelCache.received(file);
    return file;
  } catch (error) {
    await modelCache.failed(file, error);
    if (!optional || !(error instanceof NotFound)) throw error;
    return undefined;
  }
}

/** Receives one file after the other, because the engine reads them in this order. */
async function receiveWeights({ modelCache }: RemoteOptions, weights: Download[]): Promise<void> {
  for (const file of weights) {
    try {
      await file.receive();
      await modelCache.received(file);
    } catch (error) {
      for (const other of weights) other.fail(error);
      await modelCache.failed(file, error);
      throw error;
    }
  }
  await modelCache.completed();
}

/** Waits for all, so that no work continues unnoticed, and throws the first failure. */
async function settled(work: Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

