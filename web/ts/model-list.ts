/** `models.json`, the list of models that a site offers (`docs/models-json.md`). It is read like a stranger's file. */
import { checkSignal, onlyOptions, shown } from './check-input.js';
import { abortedBy } from './client.js';
import { WordloomError } from './errors.js';
import { studentFiles } from './loading/folder.js';
import { readLimited } from './loading/limited.js';

/** A model of a site's `models.json`. */
export interface ListedModel {
  name: string;
  /** `model_type`, such as `marian`. */
  family: string;
  /** Source and target languages. */
  pairs: [string, string][];
  /** The languages of a model that translates each into each other; empty for a model of pairs. */
  languages: string[];
  /** Bytes of all files. */
  bytes: number;
  licence: string;
  /** The absolute address of its folder, for the `model` option. */
  url: string;
  /** SHA-256 by file name, for the `manifest` option. */
  manifest: Record<string, string>;
}

/** The entries of a list that are valid. */
export interface ModelList {
  models: ListedModel[];
  /** The reasons why entries were left out. */
  skipped: string[];
}

const VERSION = 1;
/** Bytes of a list. */
const MOST_BYTES = 4 << 20;
const MOST_MODELS = 1000;
const MOST_PAIRS = 2000;
const MOST_LANGUAGES = 500;
const MOST_FILES = 200;
const MOST_CHARACTERS = 100;
const CODE = /^[A-Za-z]{2,3}(?:[_-][A-Za-z0-9]{2,8}){0,3}$/;
const FILE = /^\w[\w.-]{0,199}$/;

/** Fetches and checks a list. `url` is relative to the page. */
export async function readModelList(url: string | URL = 'models.json', options: { signal?: AbortSignal } = {}): Promise<ModelList> {
  onlyOptions(options);
  const { signal } = options ?? {};
  checkSignal(signal);
  if (signal?.aborted) throw abortedBy(signal);
  let address: URL;
  try {
    address = new URL(url, globalThis.location?.href);
  } catch (error) {
    throw new WordloomError('input', `${shown(url)} is no address of a list; it must be absolute outside of a page.`, { cause: error });
  }
  let bytes: Uint8Array;
  try {
    const response = await fetch(address, { signal, cache: 'no-cache' });
    if (!response.ok) throw new WordloomError('network', `${address.href} answered with status ${response.status}.`);
    bytes = await readLimited(response, MOST_BYTES);
  } catch (error) {
    if (signal?.aborted) throw abortedBy(signal);
    if (error instanceof WordloomError) throw error;
    if (error instanceof RangeError) throw new WordloomError('input', `${address.href} is no list of models: ${error.message}.`);
    throw new WordloomError('network', `${address.href} could not be fetched.`, { cause: error });
  }
  return parseModelList(bytes, address);
}

/** Checks a list. Entries that are not valid are left out; `address` is the list's own. */
export function parseModelList(bytes: Uint8Array, address: URL): ModelList {
  const wrong = (what: string, cause?: unknown) => new WordloomError('input', `${address.href} is no list of models: ${what}.`, { cause });
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw wrong('it is not JSON', error);
  }
  if (!isObject(json)) throw wrong('it is not an object');
  if (json['version'] !== VERSION) throw wrong(`"version" is ${short(json['version'])}; this program reads ${VERSION}`);
  const entries = json['models'];
  if (!Array.isArray(entries)) throw wrong('"models" is not a list');
  if (entries.length > MOST_MODELS) throw wrong(`it has ${entries.length} models, at most ${MOST_MODELS} are read`);
  const models: ListedModel[] = [];
  const skipped: string[] = [];
  entries.forEach((entry: unknown, index) => {
    try {
      models.push(modelOf(entry, address));
    } catch (error) {
      skipped.push(`models[${index}]: ${(error as Error).message}`);
    }
  });
  return { models, skipped };
}

function modelOf(entry: unknown, address: URL): ListedModel {
  if (!isObject(entry)) throw new Error('it is not an object');
  const name = textOf(entry, 'name');
  const family = textOf(entry, 'family');
  const licence = textOf(entry, 'licence');
  const pairs = listOf(entry, 'pairs', MOST_PAIRS).map((pair) => {
    const codes = Array.isArray(pair) && pair.length === 2 ? pair.map(codeOf) : [];
    if (codes.length !== 2) throw new Error(`"pairs" holds ${short(pair)}, which is no pair of languages`);
    return codes as [string, string];
  });
  const languages = listOf(entry, 'languages', MOST_LANGUAGES).map(codeOf);
  if (pairs.length === 0 && languages.length === 0) throw new Error('it has neither "pairs" nor "languages"');
  const { bytes, manifest } = filesOf(entry);
  return { name, family, licence, pairs, languages, bytes, manifest, url: folderOf(entry, address) };
}

function textOf(entry: Json, field: string): string {
  const value = entry[field];
  // Control characters include those that turn the direction of text.
  if (typeof value === 'string' && value.trim() !== '' && value.length <= MOST_CHARACTERS && !/[\p{Cc}\p{Cf}]/u.test(value)) return value;
  throw new Error(`"${field}" is ${short(value)}; it must be a text of 1 to ${MOST_CHARACTERS} characters`);
}

function listOf(entry: Json, field: string, most: number): unknown[] {
  const value = entry[field] ?? [];
  if (!Array.isArray(value)) throw new Error(`"${field}" is ${short(value)}; it must be a list`);
  if (value.length > most) throw new Error(`"${field}" has ${value.length} entries, at most ${most} are read`);
  return value;
}

function codeOf(value: unknown): string {
  if (typeof value === 'string' && CODE.test(value)) return value;
  throw new Error(`${short(value)} is no code of a language`);
}

/** The sizes and sums of the files. */
function filesOf(entry: Json): { bytes: number; manifest: Record<string, string> } {
  const files = entry['files'];
  if (!isObject(files)) throw new Error(`"files" is ${short(files)}; it must be an object`);
  const names = Object.keys(files);
  if (names.length > MOST_FILES) throw new Error(`"files" has ${names.length} entries, at most ${MOST_FILES} are read`);
  if (!names.includes('config.json') && studentFiles(names) === undefined) throw new Error('"files" has no config.json');
  const manifest: Record<string, string> = {};
  let sum = 0;
  for (const name of names) {
    const file = files[name];
    if (!FILE.test(name)) throw new Error(`"files" holds ${short(name)}, which is no name of a file`);
    const [size, sha256] = isObject(file) ? [file['bytes'], file['sha256']] : [];
    if (!Number.isSafeInteger(size) || Number(size) < 0) throw new Error(`"bytes" of ${name} is ${short(size)}`);
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) throw new Error(`"sha256" of ${name} is ${short(sha256)}`);
    sum += Number(size);
    manifest[name] = sha256;
  }
  if (entry['bytes'] !== sum) throw new Error(`"bytes" is ${short(entry['bytes'])}, and its files have ${sum}`);
  return { bytes: sum, manifest };
}

/** A folder of the list's own site, or of another one by its whole address with https. */
function folderOf(entry: Json, address: URL): string {
  const value = entry['url'];
  if (typeof value !== 'string' || value.length > 2000) throw new Error(`"url" is ${short(value)}; it must be the address of a folder`);
  const base = new URL('.', address);
  base.search = '';
  let url: URL;
  try {
    url = new URL(value.endsWith('/') ? value : `${value}/`, base);
  } catch {
    throw new Error(`"url" is ${short(value)}, which is no address`);
  }
  const whole = /^https:\/\//i.test(value);
  const inside = url.origin === base.origin && url.pathname.startsWith(base.pathname);
  const odd = url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '';
  if ((!whole && !inside) || odd) {
    throw new Error(`"url" is ${short(value)}; it must be a folder beside the list, or begin with https://`);
  }
  return url.href;
}

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value for a message. */
function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
