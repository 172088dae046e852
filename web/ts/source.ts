/** Converts the caller's `model` option to a model source for the engine. */
import { WordloomError } from './errors.js';
import { HUB, type HubName, hubName } from './hub-name.js';
import type { WireCreate, WireSource } from './protocol.js';
import type { CreateOptions, ModelSource } from './types.js';

const DEVICES = ['auto', 'gpu', 'cpu'] as const;
const WEIGHTS = ['auto', 'f32', 'f16', 'q8', 'w8a8'] as const;
const CACHES = ['preferred', 'required', 'none'] as const;
const OPTIONS = ['model', 'device', 'weights', 'cache', 'manifest', 'endpoint', 'token', 'update', 'passOver', 'onProgress', 'signal', 'worker'];

/** Checks the options of `create`. `base` is the base of relative URLs. */
export function toWire(options: CreateOptions, bundled: WireSource | undefined, base: string): WireCreate {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name)) {
      throw new WordloomError('input', `There is no option ${quote(name)}; there are ${OPTIONS.join(', ')}.`);
    }
  }
  const { device = 'auto', weights = 'auto', cache = 'preferred', manifest, passOver } = options;
  return {
    source: sourceOf(options, bundled, base),
    device: oneOf('device', device, DEVICES),
    weights: oneOf('weights', weights, WEIGHTS),
    cache: oneOf('cache', cache, CACHES),
    manifest: typeof manifest === 'string' || manifest instanceof URL ? absolute(manifest, base) : manifest,
    passOver,
  };
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
  const url = new URL(absolute(endpoint, base));
  if (!/^https?:$/.test(url.protocol)) throw new WordloomError('input', `endpoint is ${quote(endpoint)}; it must begin with https://.`);
  if (token !== undefined && !/^[\x21-\x7e]{1,500}$/.test(token)) {
    throw new WordloomError('input', 'token must be a text without spaces, such as "hf_…".');
  }
  const address = (url.origin + url.pathname).replace(/\/+$/, '');
  return { from: 'hub', ...name, endpoint: address, token, update: update === true };
}

function required(bundled: WireSource | undefined): WireSource {
  if (bundled) return bundled;
  const fix = 'give `model` a name of the Hugging Face hub or the URL of a folder, or import from "wordloom", which brings one.';
  throw new WordloomError('input', `There is no model: ${fix}`);
}

function oneOf<T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw new WordloomError('input', `${option} is ${quote(value)}; it can be ${allowed.join(', ')}.`);
}

function wireSource(model: ModelSource, base: string): WireSource {
  if (typeof model === 'string' || model instanceof URL) return { from: 'url', url: absolute(model, base) };
  if (typeof model === 'object' && model !== null) {
    if ('kind' in model && model.kind === 'directory') return { from: 'directory', handle: model };
    if (Symbol.iterator in model) return fromFiles([...model]);
    if ('urls' in model && 'manifest' in model) {
      const { name: label, urls, manifest } = model;
      return { from: 'bundle', label, urls, manifest };
    }
  }
  throw new WordloomError('input', 'model must be a URL, a name of the hub, a list of files, the handle of a directory, or a package of a model.');
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

function quote(value: unknown): string {
  return JSON.stringify(String(value));
}
