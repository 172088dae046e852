/** Converts the caller's `model` option to a model source for the engine. */
import { oneOf, shown as quote, trueOrFalse } from './check-input.js';
import { WordloomError } from './errors.js';
import { HUB, type HubName, hubName } from './hub-name.js';
import type { WireCreate, WireSource } from './protocol.js';
import type { CreateOptions, DirectoryHandle, ModelPackage, ModelSource } from './types.js';

const DEVICES = ['auto', 'gpu', 'cpu'] as const;
const WEIGHTS = ['auto', 'f32', 'f16', 'q8', 'w8a8'] as const;
const CACHES = ['preferred', 'required', 'none'] as const;
const OPTIONS = ['model', 'device', 'weights', 'cache', 'manifest', 'endpoint', 'token', 'update', 'passOver', 'onProgress', 'signal', 'worker'];

/** Checks the options of `create`. `base` is the base of relative URLs. */
export function toWire(options: CreateOptions, bundled: WireSource | undefined, base: string): WireCreate {
  checkNames(options);
  const { device = 'auto', weights = 'auto', cache = 'preferred', manifest, passOver, endpoint, token, update, worker } = options;
  if (endpoint !== undefined) endpointOf(endpoint, base);
  checkToken(token);
  if (update !== undefined) trueOrFalse(update, 'update');
  if (worker !== undefined) trueOrFalse(worker, 'worker');
  return {
    source: withAbsoluteUrls(sourceOf(options, bundled, base), base),
    device: oneOf('device', device, DEVICES),
    weights: oneOf('weights', weights, WEIGHTS),
    cache: oneOf('cache', cache, CACHES),
    manifest: typeof manifest === 'string' || manifest instanceof URL ? absolute(manifest, base) : manifest,
    passOver,
  };
}

/** Throws unless `options` is an object of options of `create`. */
export function checkNames(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new WordloomError('input', 'The options of create must be an object, such as { model }.');
  }
  const other = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (other !== undefined) throw new WordloomError('input', `There is no option ${quote(other)}; there are ${OPTIONS.join(', ')}.`);
}

function sourceOf(options: CreateOptions, bundled: WireSource | undefined, base: string): WireSource {
  const { model } = options;
  if (model === undefined) return required(bundled);
  if (typeof model === 'string' && /^(firefox|built-in):/.test(model)) {
    const instead = 'here, give the URL of a folder, or the package of a model.';
    throw new WordloomError('input', `${quote(model)} is a name for the wordloom command: ${instead}`);
  }
  const name = typeof model === 'string' ? hubName(model) : undefined;
  return name === undefined ? wireSource(model, base) : hubSource(name, options, base);
}

function hubSource(name: HubName, { endpoint = HUB, token, update = false }: CreateOptions, base: string): WireSource {
  return { from: 'hub', ...name, endpoint: endpointOf(endpoint, base), token, update };
}

function endpointOf(endpoint: string | URL, base: string): string {
  const isAddress = typeof endpoint === 'string' || endpoint instanceof URL;
  // not relative to the page, whose own server would get the token
  if (isAddress && /^https?:\/\//i.test(String(endpoint))) {
    const url = new URL(absolute(endpoint, base));
    return (url.origin + url.pathname).replace(/\/+$/, '');
  }
  throw new WordloomError('input', `endpoint is ${quote(endpoint)}; it must begin with https:// or http://.`);
}

function checkToken(token: unknown): void {
  if (token === undefined || (typeof token === 'string' && /^[\x21-\x7e]{1,500}$/.test(token))) return;
  throw new WordloomError('input', 'token must be a text without spaces, such as "hf_…".');
}

function required(bundled: WireSource | undefined): WireSource {
  if (bundled) return bundled;
  const fix = 'give `model` a name of the Hugging Face hub or the URL of a folder, or import from "wordloom", which brings one.';
  throw new WordloomError('input', `There is no model: ${fix}`);
}

function wireSource(model: ModelSource, base: string): WireSource {
  if (typeof model === 'string' || model instanceof URL) return { from: 'url', url: urlOfFolder(model, base) };
  if (typeof model === 'object' && model !== null) {
    // the namespace of a package of a model, from `import()`
    if ('default' in model) return wireSource(model.default as ModelPackage, base);
    if (isDirectory(model)) return { from: 'directory', handle: model };
    if (Symbol.iterator in model) return fromFiles([...(model as Iterable<File>)]);
    if ('config.json' in model) return fromFiles(Object.entries(model).map(([name, bytes]) => fileOf(name, bytes)));
    if ('urls' in model && 'manifest' in model) {
      const { name: label = 'the given model', urls, manifest, sizes } = model as ModelPackage;
      for (const [name, texts] of Object.entries({ urls, manifest })) {
        if (isTexts(texts)) continue;
        throw new WordloomError('input', `model.${name} must be an object of texts by file name, as a package of a model exports it.`);
      }
      return { from: 'bundle', label: String(label), urls, manifest, sizes };
    }
  }
  throw new WordloomError('input', 'model must be a URL, a name of the hub, a list of files, an object of their bytes, the handle of a directory, or a package of a model.');
}

function isDirectory(model: object): model is DirectoryHandle {
  return 'kind' in model && model.kind === 'directory' && 'values' in model;
}

function fileOf(name: string, bytes: unknown): File {
  if (bytes instanceof Uint8Array) return new File([bytes as Uint8Array<ArrayBuffer>], name);
  throw new WordloomError('input', `model holds ${name}, which must be a Uint8Array as of \`trainer.save()\`.`);
}

function isTexts(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((text) => typeof text === 'string');
}

/** The URL of a folder: one that can have files below it, as `data:` and `blob:` cannot. */
function urlOfFolder(model: string | URL, base: string): string {
  if (String(model).trim() === '') throw new WordloomError('input', 'model is an empty text; give a name of the hub or the URL of a folder.');
  const url = absolute(model, base);
  try {
    new URL('config.json', url);
    return url;
  } catch {
    throw new WordloomError('input', `model is ${quote(model)}, which is no URL of a folder.`);
  }
}

/** Some bundlers (Next.js) make addresses that are relative to the page's origin, which no worker can request. */
function withAbsoluteUrls(source: WireSource, base: string): WireSource {
  if (source.from !== 'bundle') return source;
  const urls = Object.entries(source.urls).map(([name, url]) => [name, absolute(url, base)]);
  return { ...source, urls: Object.fromEntries(urls) };
}

function absolute(url: string | URL, base: string): string {
  try {
    return new URL(url, base).href;
  } catch {
    throw new WordloomError('input', `${quote(String(url))} is not a URL.`);
  }
}

/** Files of a chosen folder, without the path to `config.json`. */
export function fromFiles(files: File[]): WireSource {
  const named = files.map((file) => {
    if (!(file instanceof File)) throw new WordloomError('input', 'model holds something that is not a File.');
    return { name: file.webkitRelativePath || file.name, file };
  });
  const depth = (name: string) => name.split('/').length;
  const configs = named.filter(({ name }) => name === 'config.json' || name.endsWith('/config.json'));
  const config = configs.sort((a, b) => depth(a.name) - depth(b.name))[0];
  const folder = config ? config.name.slice(0, -'config.json'.length) : commonFolder(named.map(({ name }) => name));
  return {
    from: 'files',
    label: folder.replace(/\/$/, '') || 'the chosen files',
    files: named
      .filter(({ name }) => name.startsWith(folder))
      .map(({ name, file }) => ({ name: name.slice(folder.length), file })),
  };
}

function commonFolder(names: string[]): string {
  const top = /^[^/]+\//.exec(names[0] ?? '')?.[0] ?? '';
  return names.every((name) => name.startsWith(top)) ? top : '';
}
