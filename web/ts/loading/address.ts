/** The addresses of a model's files. */
import type { WordloomError } from '../errors.js';
import type { WireSource } from '../protocol.js';
import type { Checksum } from './checksum.js';

export interface Address {
  /** The model's name in messages. */
  label: string;
  /** Identifies the model. */
  identity: string;
  url(name: string): string;
  /** Whether the file exists; undefined for folders, which cannot be listed. */
  lists(name: string): boolean | undefined;
  /** The size that an index names. */
  size?(name: string): number | undefined;
  /** The files that are downloaded, as far as an index tells, with their lengths. */
  expected?: readonly (readonly [name: string, size: number])[];
  checksum?(name: string): Checksum | undefined;
  headers?: Record<string, string>;
  /** The error for a status 401 or 403. */
  denied?(): WordloomError;
}

export function addressOf(source: Extract<WireSource, { from: 'url' | 'bundle' }>): Address {
  if (source.from === 'bundle') {
    return {
      label: source.label,
      identity: JSON.stringify(source.manifest),
      url: (name) => source.urls[name]!,
      lists: (name) => name in source.urls,
      expected: Object.entries(source.sizes ?? {}),
    };
  }
  const folder = folderUrl(source.url);
  return {
    label: source.url,
    identity: folder.href,
    url(name) {
      const url = new URL(name, folder);
      url.search = folder.search; // A signature, if any.
      return url.href;
    },
    lists: () => undefined,
  };
}

/** The base URL of the files. A model's page at Hugging Face stands for its files. */
export function folderUrl(text: string): URL {
  const url = new URL(text);
  url.hash = '';
  if (url.hostname === 'huggingface.co' || url.hostname === 'hf.co') {
    const [owner, model, what, revision = 'main'] = url.pathname.split('/').filter(Boolean);
    const isPage = owner && model && owner !== 'datasets' && owner !== 'spaces' && (!what || what === 'tree');
    if (isPage) url.pathname = `/${owner}/${model}/resolve/${revision}/`;
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}
