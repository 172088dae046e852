import { WordloomError } from '../errors.js';

export type Manifest = Record<string, string>;

/** SHA-256 by file name, from an object or from the JSON file at a URL. */
export async function readManifest(
  manifest: string | Manifest | undefined,
  signal: AbortSignal,
  read: (url: string, signal: AbortSignal) => Promise<string> = fetchText,
): Promise<Manifest> {
  if (manifest === undefined) return {};
  if (typeof manifest !== 'string') return checked(manifest, 'manifest');
  const text = await read(manifest, signal);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new WordloomError('input', `The manifest ${manifest} is not JSON.`, { cause: error });
  }
  return checked(json, `The manifest ${manifest}`);
}

function checked(manifest: unknown, label: string): Manifest {
  const entries = typeof manifest === 'object' && manifest !== null ? Object.entries(manifest) : undefined;
  // a list or a Map has no names of files as keys
  if (!entries || Symbol.iterator in (manifest as object)) {
    throw new WordloomError('input', `${label} must be an object of file names and SHA-256 sums.`);
  }
  const wrong = entries.find(([, sum]) => typeof sum !== 'string' || !/^[0-9a-f]{64}$/i.test(sum));
  if (wrong) throw new WordloomError('input', `${label} has no SHA-256 sum of 64 hexadecimal digits for ${wrong[0]}.`);
  return Object.fromEntries(entries.map(([name, sum]) => [name, String(sum).toLowerCase()]));
}

export async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  let response: Response;
  try {
    response = await fetch(url, { signal });
  } catch (error) {
    throw new WordloomError('network', `The manifest ${url} could not be fetched.`, { cause: error });
  }
  if (!response.ok) throw new WordloomError('network', `The manifest ${url} answered with status ${response.status}.`);
  return response.text();
}
