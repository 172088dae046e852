/** A model's source and name. */
import { signal } from '@preact/signals';
import { hubName } from 'wordloom';
import type { CreateOptions } from 'wordloom';

import type { Direction } from './languages.ts';

export type ModelChoice =
  | { kind: 'bundled' }
  /** Name, sums and pair are those of the site's list. */
  | { kind: 'url'; url: string; name?: string; manifest?: Record<string, string>; pair?: Languages }
  /** A model of the Hugging Face hub: `owner/name` or `owner/name@revision`. */
  | { kind: 'hub'; name: string; endpoint?: string; pair?: Languages }
  /** Files that the user dropped or chose. A reload loses them. */
  | { kind: 'folder'; name: string; files: File[] };

type Languages = readonly [source: string, target: string];

/** The built-in model, as the site's list describes it. */
export const builtIn = signal<{ name: string; pair: Languages | null }>({
  name: 'tatoeba-en-de',
  pair: ['en', 'de'],
});

export function toSource(choice: ModelChoice): Pick<CreateOptions, 'manifest' | 'endpoint'> & {
  model: NonNullable<CreateOptions['model']>;
} {
  switch (choice.kind) {
    case 'bundled':
      return { model: new URL('model/', document.baseURI) };
    case 'url':
      return { model: new URL(choice.url, document.baseURI), manifest: choice.manifest };
    case 'hub':
      return { model: choice.name, endpoint: choice.endpoint };
    case 'folder':
      return { model: choice.files };
  }
}

/** Identifies a model. Folders of one name are one model. */
export function choiceKey(choice: ModelChoice): string {
  switch (choice.kind) {
    case 'bundled':
      return 'built in';
    case 'url':
      return choice.url;
    case 'hub':
      return choice.name;
    case 'folder':
      return `folder ${choice.name}`;
  }
}

export function modelName(choice: ModelChoice): string {
  switch (choice.kind) {
    case 'bundled':
      return builtIn.value.name;
    case 'url':
      return choice.name ?? lastSegment(choice.url);
    case 'hub':
      return choice.name.slice(choice.name.indexOf('/') + 1);
    case 'folder':
      return choice.name;
  }
}

/** The model of a typed address: `Helsinki-NLP/opus-mt-en-fr` is a model of the Hugging Face hub. */
export function toChoice(input: string): ModelChoice {
  const address = input.trim();
  return hubName(address) ? { kind: 'hub', name: address } : { kind: 'url', url: toUrl(address) };
}

/** The URL of a typed address. */
function toUrl(address: string): string {
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

/** The languages of a model of one pair: those that are stated, or those of a name such as `opus-mt-en-fr`. */
export function languages(choice: ModelChoice): Direction {
  const stated = choice.kind === 'bundled' ? builtIn.value.pair : choice.kind === 'folder' ? null : choice.pair;
  if (stated) return { source: stated[0], target: stated[1] };
  const match = /(?:^|[-_])([a-z]{2,3})[-_]([a-z]{2,3})$/.exec(modelName(choice).replace(/@.*/, ''));
  return { source: match?.[1] ?? null, target: match?.[2] ?? null };
}

function lastSegment(url: string): string {
  const path = new URL(url, document.baseURI).pathname.replace(/\/resolve\/[^/]+\/?$/, '');
  const segments = path.split('/').filter((segment) => segment !== '');
  return decodeURIComponent(segments[segments.length - 1] ?? url);
}
