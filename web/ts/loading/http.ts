/** A request for a file, or for the rest of it. */
import { aborted, WordloomError } from '../errors.js';

/** The server's headers that identify a version of a file. */
export interface Version {
  etag?: string | undefined;
  lastModified?: string | undefined;
}

export interface Answer {
  body: ReadableStream<Uint8Array> | null;
  /** Position of `body` in the file. */
  start: number;
  /** The file's length, if known. */
  total: number | undefined;
  version: Version;
}

/** A failure after which the request can be repeated. */
export class Interrupted extends Error {
  /** Milliseconds that the server asks to wait. */
  readonly retryAfter: number | undefined;
  /** Whether no server answered. */
  readonly unreachable: boolean;

  constructor(message: string, retryAfter?: number, unreachable = false) {
    super(message);
    this.retryAfter = retryAfter;
    this.unreachable = unreachable;
  }
}

/** Pauses before repeated attempts without a new byte; after the last, the request fails. */
const BACKOFF_MS = [200, 500, 1000, 2000];
/** The longest pause that a server can ask for. */
const LONGEST_MS = 30_000;

/** Milliseconds before the next attempt; undefined if there is none. */
export function pauseBefore(failures: number, { retryAfter, unreachable }: Interrupted): number | undefined {
  const offline = unreachable && globalThis.navigator?.onLine === false;
  const pause = BACKOFF_MS[failures];
  if (pause === undefined || offline || (retryAfter ?? 0) > LONGEST_MS) return undefined;
  return Math.max(pause, retryAfter ?? 0);
}

/** Milliseconds of `Retry-After`, which holds seconds or a date. */
export function retryAfter(headers: Headers): number | undefined {
  const text = headers.get('Retry-After');
  if (text === null) return undefined;
  const wait = /^\d+$/.test(text) ? 1000 * Number(text) : Date.parse(text) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** A file that the server does not have. */
export class NotFound extends WordloomError {
  constructor(url: string, what: string) {
    super('network', `${url} ${what}. Is this the folder of a Hugging Face model?`);
  }
}

export interface FileRequest {
  method?: 'GET' | 'HEAD';
  /** Number of bytes received already. */
  from: number;
  /** Their version. */
  version: Version;
  /** Whether the browser's own cache should store nothing, because the bytes are stored elsewhere. */
  keptElsewhere: boolean;
  /** More headers, such as a token. */
  headers?: Record<string, string> | undefined;
  /** The error for a status 401 or 403. */
  denied?: (() => WordloomError) | undefined;
  signal: AbortSignal;
}

/** Whether an origin accepts `Range` headers: some servers do not allow them (CORS), some answer wrongly. */
const takesRanges = new Map<string, boolean>();

export async function requestFile(url: string, request: FileRequest): Promise<Answer> {
  const { method = 'GET', from, signal } = request;
  if (url.startsWith('data:')) return answerInline(url);
  const origin = new URL(url).origin;
  let response = await send(url, request, takesRanges.get(origin) ?? true);
  // Some servers refuse a range of an empty file.
  if (response.status === 416 && from === 0) response = await send(url, request, false);
  if (response.status === 416) return { body: null, start: Infinity, total: undefined, version: {} };
  if (!response.ok) {
    void response.body?.cancel().catch(() => {});
    const { status } = response;
    if (status === 404 || status === 410) throw new NotFound(url, `is not there (status ${status})`);
    if (request.denied && (status === 401 || status === 403)) throw request.denied();
    const message = `${url} answered with status ${status}${status === 401 || status === 403 ? ' (no access)' : ''}`;
    if (status === 408 || status === 425 || status === 429 || status >= 500) {
      throw new Interrupted(message, retryAfter(response.headers));
    }
    throw new WordloomError('network', `${message}.`, { code: 'bad-status', values: { host: new URL(url).host, status } });
  }
  if (signal.aborted) throw aborted();
  return answer(url, response, method, from);
}

async function send(url: string, request: FileRequest, range: boolean): Promise<Response> {
  const { method = 'GET', from, version, keptElsewhere, signal } = request;
  const headers = new Headers(request.headers);
  // Always a range: its answer is never compressed, so lengths are those of the file.
  if (range) headers.set('Range', `bytes=${from}-`);
  const { origin } = new URL(url);
  const sameOrigin = origin === globalThis.location?.origin;
  // Other origins rarely allow this header; there, the answer's version is compared.
  if (range && from > 0 && sameOrigin && version.etag?.startsWith('"')) headers.set('If-Range', version.etag);
  try {
    const response = await fetch(url, { method, headers, signal, cache: keptElsewhere ? 'no-store' : 'default' });
    if (range) takesRanges.set(origin, true);
    return response;
  } catch (error) {
    if (signal.aborted) throw aborted();
    if (range && (from === 0 || !takesRanges.has(origin))) {
      const response = await send(url, request, false);
      if (!takesRanges.has(origin)) takesRanges.set(origin, false);
      return response;
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new Interrupted(`${url} could not be reached (${reason})`, undefined, true);
  }
}

function answer(url: string, response: Response, method: string, from: number): Answer {
  const { headers } = response;
  if (headers.get('Content-Type')?.startsWith('text/html')) {
    void response.body?.cancel().catch(() => {});
    // Servers of single-page applications answer every address with a page.
    throw new NotFound(url, 'answered with an HTML page instead of the file');
  }
  const version = { etag: headers.get('ETag') ?? undefined, lastModified: headers.get('Last-Modified') ?? undefined };
  const encoding = headers.get('Content-Encoding');
  const plain = encoding === null || encoding === 'identity';
  const length = plain ? parseLength(headers.get('Content-Length')) : undefined;
  const range = /^bytes (\d+)-\d*\/(\d+|\*)$/.exec(headers.get('Content-Range') ?? '');
  const partial = response.status === 206;
  const start = partial ? Number(range?.[1] ?? (method === 'HEAD' ? 0 : from)) : 0;
  const announced = range ? parseLength(range[2] ?? null) : undefined;
  return { body: response.body, start, total: announced ?? (length === undefined ? undefined : start + length), version };
}

function parseLength(text: string | null): number | undefined {
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Whether two answers can be of one version. Missing headers count as equal. */
export function sameVersion(a: Version, b: Version): boolean {
  const strong = (etag: string) => etag.replace(/^W\//, '');
  if (a.etag !== undefined && b.etag !== undefined) return strong(a.etag) === strong(b.etag);
  if (a.lastModified !== undefined && b.lastModified !== undefined) return a.lastModified === b.lastModified;
  return true;
}

/** A file in a `data:` URL, written by a bundler. Strict security policies do not allow fetching it. */
function answerInline(url: string): Answer {
  const comma = url.indexOf(',');
  const data = decodeURIComponent(url.slice(comma + 1));
  const base64 = url.slice(0, comma).endsWith(';base64');
  const bytes = base64
    ? Uint8Array.from(atob(data), (character) => character.charCodeAt(0))
    : new TextEncoder().encode(data);
  return { body: new Response(bytes).body, start: 0, total: bytes.length, version: {} };
}
