/** A model on the network: its files, their storage, and the order of downloads. */
import { WordloomError } from '../errors.js';
import type { EngineInfo } from '../types.js';
import type { HostFile } from '../wordloom_web.js';
import type { Address } from './address.js';
import { Download } from './download.js';
import {
  familyOf,
  hasTargetVocabulary,
  isFast,
  olderFiles,
  type OpenFolder,
  pairOf,
  shardsOf,
  studentFiles,
  type TextFiles,
  textFiles,
  WEIGHTS,
  WITH_TEXT,
  WITHOUT_TRANSLATION,
} from './folder.js';
import { NotFound } from './http.js';
import type { ModelCache } from './model-cache.js';
import type { Manifest } from './manifest.js';

export interface RemoteOptions {
  address: Address;
  modelCache: ModelCache;
  manifest: Manifest;
  signal: AbortSignal;
  /** The families that the engine reads. */
  families(): Promise<string[]>;
}

export async function openRemoteFolder(options: RemoteOptions): Promise<OpenFolder> {
  const { address, modelCache } = options;
  const files: Download[] = [];
  const close = () => {
    for (const file of files) file.close();
    modelCache.close();
  };
  const { progress } = modelCache;
  try {
    progress.expect(address.expected ?? []);
    const student = studentFiles(Object.keys(options.manifest));
    const small = student ? new Map<string, Download>() : await receiveSmall(options, files);
    const weights = student ? await openStudent(options, files, student) : await openWeights(options, files, small);
    progress.only(files.map(({ name }) => name));
    await modelCache.checkRoom(files.reduce((sum, file) => sum + file.size - file.loaded, 0));
    const complete = receiveWeights(options, weights);
    complete.catch(() => {}); // Callers await it; the engine gets the failure through `arrived`.
    const failure = () => weights.find((file) => file.failure !== undefined)?.failure;
    const pair = pairOf(whole(small.get('tokenizer_config.json')), student?.weights);
    const loaded = ({ family, languages }: EngineInfo['model']) => modelCache.about({ family, languages, pair });
    const forget = (damaged: string) => modelCache.forget(damaged);
    return { host: { label: address.label, files: files satisfies HostFile[] }, complete, failure, loaded, forget, close };
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
  await settled([
    get('config.json', false),
    get('generation_config.json', true),
    get('tokenizer_config.json', true),
  ]);
  const [config, tokenizer] = ['config.json', 'tokenizer_config.json'].map((name) => whole(found.get(name)));
  const family = familyOf(config);
  await checkFamily(options, family);
  // Without them, the model still takes token ids.
  const text = await receiveText(textFiles(config, tokenizer), (name) => get(name, false));
  if (text === undefined) reportNoText(options, family, textFiles(config, tokenizer));
  else {
    // models with SentencePiece seldom have them: a request is not worth it where no list says so
    const older = olderFiles(tokenizer).filter((name) => isFast(text) || options.address.lists(name) === true);
    await settled(older.map((name) => get(name, true)));
  }
  if (hasTargetVocabulary(tokenizer)) await get('target_vocab.json', true);
  return found;
}

/** Receives the first list that is complete; undefined if none is there. */
async function receiveText(
  lists: TextFiles,
  get: (name: string) => Promise<void>,
): Promise<readonly string[] | undefined> {
  let incomplete: unknown;
  for (const list of lists) {
    const missing: unknown[] = [];
    const tried = list.map((name) =>
      get(name).catch((error: unknown) => {
        if (!(error instanceof NotFound)) throw error;
        missing.push(error);
      }),
    );
    await settled(tried);
    if (missing.length === 0) return list;
    if (missing.length < list.length) incomplete ??= missing[0];
  }
  if (incomplete !== undefined) throw incomplete;
  return undefined;
}

function whole(file: Download | undefined): Uint8Array | undefined {
  return file?.read(0, file.size);
}

/** Refuses a model that the engine does not read, before its weights are downloaded. */
async function checkFamily({ address, families }: RemoteOptions, family: string | undefined): Promise<void> {
  // Without an index, the engine reports it from the same file.
  if (family === undefined || address.lists('config.json') === undefined) return;
  const known = await families();
  if (known.includes(family)) return;
  const what = `${address.label} is of the family ${JSON.stringify(family.slice(0, 64))}`;
  throw new WordloomError('unsupported', `${what}, which Wordloom does not read. It reads ${known.join(', ')}.`, {
    code: 'unknown-family',
    values: { name: address.label, family: family.slice(0, 64) },
  });
}

/** Refuses a repository without a tokenizer. Other folders may be for token ids. */
function reportNoText({ address, modelCache }: RemoteOptions, family: string | undefined, lists: TextFiles): void {
  const wanted = lists.map((list) => list.join(', ')).join(', and no ');
  if (address.lists('config.json') === undefined || !WITH_TEXT.includes(String(family))) {
    if (WITHOUT_TRANSLATION.includes(String(family))) return;
    modelCache.progress.warn(`${address.label} has no ${wanted}: it takes token ids, but no text.`);
    return;
  }
  const isOther = address.lists('tokenizer.json') && lists.every((list) => list[0] !== 'tokenizer.json');
  const other = isOther ? ' (it has tokenizer.json, which models of its class do not read)' : '';
  throw new WordloomError('unsupported', `${address.label} has no ${wanted}${other}: without its tokenizer it takes no text.`, {
    code: 'no-tokenizer',
    values: { name: address.label },
  });
}

/** Receives a Firefox student's small files. Its checksums name them, because a folder cannot be listed. */
async function openStudent(
  options: RemoteOptions,
  files: Download[],
  { weights, small }: { weights: string; small: string[] },
): Promise<Download[]> {
  await settled(small.map(async (name) => {
    const file = await receive(options, name, false);
    if (file) files.push(file);
  }));
  const file = await openFile(options, weights, files);
  if (file instanceof Download) return [file];
  throw file;
}

/** The weights' files with their lengths, in the order of download. */
async function openWeights(
  options: RemoteOptions,
  files: Download[],
  small: Map<string, Download>,
): Promise<Download[]> {
  const { address, modelCache } = options;
  let first: NotFound | undefined;
  for (const { single, index } of WEIGHTS) {
    const one = await openFile(options, single, files);
    if (one instanceof Download) return [one];
    first ??= one;
    const list = await receive(options, index, true);
    if (!list) continue;
    files.push(list);
    small.set(index, list);
    const shards = shardsOf(list.read(0, list.size));
    if (shards.length === 0) throw new WordloomError('input', `${address.url(index)} lists no weights.`);
    const weights: Download[] = [];
    await settled(
      shards.map(async (name, at) => {
        const file = await modelCache.download(name, options);
        files.push(file);
        weights.push(file);
        await modelCache.opened(file, at === 0 ? 'GET' : 'HEAD');
      }),
    );
    return weights.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
  const names = WEIGHTS.map(({ single }) => single).join(' or ');
  const shards = WEIGHTS.map(({ index }) => index).join(' or ');
  const what = `${address.label} has no weights that are read here: no ${names}, and no ${shards}`;
  throw new WordloomError('network', `${what}. ${first?.message}`, { cause: first });
}

/** The file with its length, or the error if it does not exist. */
async function openFile(options: RemoteOptions, name: string, files: Download[]): Promise<Download | NotFound> {
  const { address, modelCache } = options;
  if (address.lists(name) === false) return new NotFound(address.url(name), 'is not there');
  const file = await modelCache.download(name, options);
  files.push(file);
  try {
    await modelCache.opened(file, 'GET');
    return file;
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    files.splice(files.indexOf(file), 1);
    await modelCache.failed(file, error);
    return error;
  }
}

async function receive(options: RemoteOptions, name: string, optional: boolean): Promise<Download | undefined> {
  const { address, modelCache } = options;
  if (address.lists(name) === false) {
    if (optional) return undefined;
    throw new NotFound(address.url(name), 'is not there');
  }
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

