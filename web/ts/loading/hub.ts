/** The Hugging Face hub: a repository's commit and files, and its refusals in words. */
import { aborted, WordloomError } from '../errors.js';
import { HUB, type HubSource, hubText } from '../hub-name.js';
import type { Address } from './address.js';
import type { Checksum } from './checksum.js';
import { chosenFiles } from './folder.js';
import { Interrupted, pauseBefore, retryAfter } from './http.js';
import { readLimited } from './limited.js';
import { sleep } from './sleep.js';

export interface HubFile {
  size: number | undefined;
  checksum: Checksum | undefined;
}

export interface Repository {
  /** 40 hexadecimal digits. */
  commit: string;
  /** Files without folders. */
  files: Map<string, HubFile>;
  /** `model_type`, if the hub names it. */
  family: string | undefined;
  /** The licence of the model card, such as `cc-by-4.0`. */
  licence: string | undefined;
  /** The languages of the model card. */
  languages: string[];
}

/** Bytes of an answer of the hub's API. */
const MOST_BYTES = 16 << 20;
const MOST_SUGGESTIONS = 4;

/** Asks the hub for the commit of a revision and its files. */
export async function describe(source: HubSource, signal: AbortSignal): Promise<Repository> {
  const { endpoint, name, revision } = source;
  const url = `${endpoint}/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const response = await ask(url, source.token, signal);
  if (!response.ok) {
    void response.body?.cancel().catch(() => {});
    throw await refusal(source, response, signal);
  }
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(await readLimited(response, MOST_BYTES)));
  } catch (error) {
    if (signal.aborted) throw aborted();
    throw new WordloomError('network', `${url} did not answer with JSON, as the hub does. Check \`endpoint\`.`, { cause: error });
  }
  const repository = repositoryOf(json);
  if (!repository) throw new WordloomError('network', `${url} names no commit, as the hub does. Check \`endpoint\`.`);
  if (isGated(json) && source.token === undefined) throw gated(source);
  return repository;
}

/** Where the files of a commit are, and their sizes and sums. */
export function hubAddress(source: HubSource, { commit, files, family }: Repository): Address {
  const { endpoint, name, token } = source;
  return {
    label: hubText(source),
    identity: hubKey(source, commit),
    url: (file) => `${endpoint}/${name}/resolve/${commit}/${encodeURIComponent(file)}`,
    lists: (file) => files.has(file),
    size: (file) => files.get(file)?.size,
    expected: expectedFiles(files, family),
    checksum: (file) => files.get(file)?.checksum,
    headers: authorization(token),
    denied: () => gated(source),
  };
}

/** The files that a page would download; none if the hub does not name their lengths. */
export function expectedFiles(files: Repository['files'], family: string | undefined): [name: string, size: number][] {
  const chosen = chosenFiles([...files.keys()], family ?? null).map((name) => [name, files.get(name)?.size] as const);
  return chosen.every((file) => file[1] !== undefined) ? (chosen as [string, number][]) : [];
}

/** The name of the folder in the private file system. Names of the hub have no `--`. */
export function hubKey({ endpoint, name }: HubSource, commit: string): string {
  const host = endpoint === HUB ? 'hub' : endpoint.replace(/^https?:\/\//, '').replace(/[^\w.]+/g, '-');
  return `${host}--${name.replace('/', '--')}--${commit}`;
}

function authorization(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

/** One request, repeated after failures that may pass. */
async function ask(url: string, token: string | undefined, signal: AbortSignal): Promise<Response> {
  for (let failures = 0; ; failures++) {
    try {
      const response = await send(url, token, signal);
      const { status } = response;
      if (status !== 408 && status !== 429 && status < 500) return response;
      void response.body?.cancel().catch(() => {});
      const much = status === 429 ? ': too many requests' : '';
      throw new Interrupted(`${new URL(url).host} answered with status ${status}${much}`, retryAfter(response.headers));
    } catch (error) {
      if (signal.aborted) throw aborted();
      if (!(error instanceof Interrupted)) throw error;
      const pause = pauseBefore(failures, error);
      if (pause === undefined) {
        const later = error.retryAfter === undefined ? 'Try again later' : `Try again in ${Math.ceil(error.retryAfter / 1000)} s`;
        const advice = error.unreachable ? 'Check the connection' : later;
        const code = error.unreachable ? 'unreachable' : 'busy';
        throw new WordloomError('network', `${error.message}. ${advice}.`, { cause: error, code, values: { host: new URL(url).host } });
      }
      await sleep(pause, signal);
    }
  }
}

async function send(url: string, token: string | undefined, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, { signal, headers: authorization(token), credentials: 'omit', cache: 'no-cache' });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Interrupted(`${new URL(url).host} could not be reached (${reason})`, undefined, true);
  }
}

/** The error of an answer that is not a repository. */
async function refusal(source: HubSource, response: Response, signal: AbortSignal): Promise<WordloomError> {
  const { endpoint, name, revision, token } = source;
  const code = response.headers.get('X-Error-Code');
  const host = new URL(endpoint).host;
  if (code === 'RevisionNotFound') {
    return new WordloomError('input', `${name} has no revision ${JSON.stringify(revision)} at ${host}: give a branch, a tag or a commit.`, {
      code: 'no-revision',
      values: { name, host },
    });
  }
  if (code === 'GatedRepo') return gated(source);
  const { status } = response;
  // Without a token, the hub answers 401 for names that it does not have.
  if (status === 404 || status === 401 || status === 403) {
    if (token !== undefined && status !== 404) {
      return new WordloomError('access', `${host} does not give ${name} with this token (status ${status}).`, { code: 'no-access', values: { name, host } });
    }
    const near = await nearest(source, signal);
    const hint = near.length > 0 ? ` Near: ${near.join(', ')}.` : '';
    const secret = token === undefined ? ', or it is private and needs `token`' : '';
    const code = near.length > 0 ? 'no-model-near' : 'no-model';
    return new WordloomError('input', `There is no model ${name} at ${host}${secret}.${hint}`, { code, values: { name, host, near: near.join(', ') } });
  }
  return new WordloomError('network', `${host} answered with status ${status} when asked for ${name}.`, {
    code: 'bad-status',
    values: { host, status },
  });
}

function gated({ endpoint, name, token }: HubSource): WordloomError {
  const terms = `${name} is gated: accept its terms at ${endpoint}/${name}`;
  const rest = token === undefined ? ', and give a token of your account as `token`.' : ' with the account of this token.';
  return new WordloomError('access', terms + rest, { code: 'gated', values: { name } });
}

/** Names that the hub finds for the last part of a name. */
async function nearest({ endpoint, name, token }: HubSource, signal: AbortSignal): Promise<string[]> {
  const last = name.slice(name.indexOf('/') + 1);
  try {
    const response = await send(`${endpoint}/api/models?search=${encodeURIComponent(last)}&limit=${MOST_SUGGESTIONS}`, token, signal);
    if (!response.ok) return [];
    const found: unknown = JSON.parse(new TextDecoder().decode(await readLimited(response, MOST_BYTES)));
    const ids = Array.isArray(found) ? found.map((model: { id?: unknown } | null) => model?.id) : [];
    return ids.filter((id) => typeof id === 'string' && id.length < 200).slice(0, MOST_SUGGESTIONS) as string[];
  } catch {
    return [];
  }
}

export function isOffline(error: unknown, signal: AbortSignal): error is WordloomError {
  return error instanceof WordloomError && error.kind === 'network' && !signal.aborted;
}

/** The error with the names of the models that need no network. */
export function withStored(error: WordloomError, names: readonly string[]): WordloomError {
  const here = names.length > 0 ? `these models are here: ${names.join(', ')}` : 'no model of the hub is here';
  return new WordloomError('network', `${error.message} Offline: ${here}.`, { cause: error, code: error.code, values: error.values });
}

type Json = Record<string, unknown>;

function repositoryOf(json: unknown): Repository | undefined {
  if (!isObject(json) || typeof json['sha'] !== 'string' || !/^[0-9a-f]{40}$/.test(json['sha'])) return undefined;
  const siblings: unknown[] = Array.isArray(json['siblings']) ? json['siblings'] : [];
  const files = new Map<string, HubFile>();
  for (const entry of siblings.filter(isObject)) {
    const name = entry['rfilename'];
    // Files of a model are in no folder.
    if (typeof name === 'string' && /^\w[\w.-]*$/.test(name)) files.set(name, fileOf(entry));
  }
  const card = isObject(json['cardData']) ? json['cardData'] : {};
  const config = isObject(json['config']) ? json['config'] : {};
  const licence: unknown = Array.isArray(card['license']) ? card['license'][0] : card['license'];
  const languages: unknown[] = Array.isArray(card['language']) ? card['language'] : [card['language']];
  return {
    commit: json['sha'],
    files,
    family: text(config['model_type'], 64),
    licence: text(licence, 64),
    languages: languages.filter((code) => text(code, 35) !== undefined) as string[],
  };
}

function fileOf(entry: Json): HubFile {
  const lfs = isObject(entry['lfs']) ? entry['lfs'] : {};
  const sizes = [lfs['size'], entry['size']].filter((size) => Number.isSafeInteger(size) && Number(size) >= 0);
  const [sha256, blob] = [lfs['sha256'] ?? lfs['oid'], entry['blobId'] ?? entry['oid']];
  if (typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)) {
    return { size: sizes[0] as number | undefined, checksum: { of: 'sha256', hex: sha256 } };
  }
  const isBlob = entry['lfs'] === undefined && typeof blob === 'string' && /^[0-9a-f]{40}$/.test(blob);
  return { size: sizes[0] as number | undefined, checksum: isBlob ? { of: 'git', hex: blob } : undefined };
}

function isGated(json: unknown): boolean {
  return isObject(json) && (json['gated'] === true || json['gated'] === 'auto' || json['gated'] === 'manual');
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown, most: number): string | undefined {
  return typeof value === 'string' && value.length > 0 && value.length <= most ? value : undefined;
}
