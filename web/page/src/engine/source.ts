/** A model's source and name. */
import type { ModelSource } from 'wordloom';

import type { Direction } from './languages.ts';

export type ModelChoice =
  | { kind: 'bundled' }
  | { kind: 'url'; url: string }
  /** Files that the user dropped or chose. A reload loses them. */
  | { kind: 'folder'; name: string; files: File[] };

export function toSource(choice: ModelChoice): ModelSource {
  switch (choice.kind) {
    case 'bundled':
      return new URL('model/', document.baseURI);
    case 'url':
      return new URL(choice.url, document.baseURI);
    case 'folder':
      return choice.files;
  }
}

export function modelName(choice: ModelChoice): string {
  switch (choice.kind) {
    case 'bundled':
      return 'tatoeba-en-de';
    case 'url':
      return lastSegment(choice.url);
    case 'folder':
      return choice.name;
  }
}

/** The URL of a typed address: `Helsinki-NLP/opus-mt-en-fr` is a model of the Hugging Face hub. */
export function toUrl(input: string): string {
  const address = input.trim();
  if (/^[\w-]+\/[\w.-]+$/.test(address)) return `https://huggingface.co/${address}/resolve/main/`;
  const whole = /^([a-z][a-z\d+.-]*:|[./])/i.test(address) ? address : `https://${address}`;
  const url = new URL(whole, document.baseURI);
  if (/\s/.test(address) || !/^https?:$/.test(url.protocol)) throw new TypeError('not a web address');
  if (url.hostname === 'huggingface.co') {
    url.pathname = url.pathname.replace(
      /^(\/[^/]+\/[^/]+)(?:\/tree\/([^/]+))?\/?$/,
      (_, repository, branch) => {
        return `${String(repository)}/resolve/${typeof branch === 'string' ? branch : 'main'}/`;
      },
    );
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url.href;
}

/** The languages in a name such as `opus-mt-en-fr`. */
export function languages(choice: ModelChoice): Direction {
  const match = /(?:^|[-_])([a-z]{2,3})[-_]([a-z]{2,3})$/.exec(modelName(choice));
  return { source: match?.[1] ?? null, target: match?.[2] ?? null };
}

function lastSegment(url: string): string {
  const path = new URL(url, document.baseURI).pathname.replace(/\/resolve\/[^/]+\/?$/, '');
  const segments = path.split('/').filter((segment) => segment !== '');
  return decodeURIComponent(segments[segments.length - 1] ?? url);
}
