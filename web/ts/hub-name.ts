/** Names of models on the Hugging Face hub: `owner/name` and `owner/name@revision`. */
import { string } from './check-input.js';

/** The parts of `owner/name@revision`. */
export interface HubName {
  /** `owner/name` */
  name: string;
  /** A branch, a tag or a commit. */
  revision: string;
}

export interface HubSource extends HubName {
  /** Address of the hub or of a mirror, without a slash at the end. */
  endpoint: string;
  token: string | undefined;
}

export const HUB = 'https://huggingface.co';
export const MAIN = 'main';

/** The characters that the hub allows. A part neither begins nor ends with `-` or `.`, and has neither `--` nor `..`. */
const PART = /^(?!.*(?:--|\.\.))[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?$/;
const REVISION = /^(?!.*\.\.)[\w][\w./-]{0,199}$/;

/**
 * The name in `text`, or undefined if it is something else. A name has exactly one slash, between two parts. So `./a/b`, `/a/b`,
 * `a/b/` and `a/b/c` are relative URLs, and `a/b` is a name.
 */
export function hubName(text: string): HubName | undefined {
  string(text);
  const at = text.indexOf('@');
  const name = at < 0 ? text : text.slice(0, at);
  const revision = at < 0 ? MAIN : text.slice(at + 1);
  const parts = name.split('/');
  if (parts.length !== 2 || !parts.every((part) => PART.test(part)) || !REVISION.test(revision)) return undefined;
  return { name, revision };
}

/** The text that `hubName` reads. */
export function hubText({ name, revision }: HubName): string {
  return revision === MAIN ? name : `${name}@${revision}`;
}
