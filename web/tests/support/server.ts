/** A small file server for tests, which can misbehave on request. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';

/** A rule for the answers to some requests. */
export interface Rule {
  /** Part of the path. */
  path: string;
  /** Number of requests that the rule applies to; default: all. */
  times?: number;
  status?: number;
  /** Closes the connection without an answer, as without a network. */
  drop?: boolean;
  /** Closes the connection after this number of bytes of the body. */
  cutAfter?: number;
  /** `false`: the server ignores the header. */
  ranges?: boolean;
  /** `false`: sent in chunks, without a length. */
  length?: boolean;
  /** Compresses for clients that accept it, or for all. */
  gzip?: 'accepted' | 'always';
  delayMs?: number;
  bytesPerSecond?: number;
  etag?: string;
  /** Body instead of the file. */
  body?: string;
  type?: string;
  /** More headers of the answer. */
  headers?: Record<string, string>;
}

export interface Request {
  method: string;
  path: string;
  range: string | undefined;
  ifRange: string | undefined;
  authorization: string | undefined;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

export class TestServer {
  /** Without a slash at the end. */
  readonly url: string;
  readonly requests: Request[] = [];
  rules: Rule[] = [];
  /** Headers of pages. */
  policy: string | undefined;
  /** Headers of all answers. */
  headers: Record<string, string> = {};
  readonly #server: Server;
  #mounts: [prefix: string, folder: string][] = [];

  /** `mounts`: path prefixes (with slashes) and the folders behind them. */
  static async start(mounts: Record<string, string>): Promise<TestServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new TestServer(server, mounts);
  }

  private constructor(server: Server, mounts: Record<string, string>) {
    this.#server = server;
    for (const [prefix, folder] of Object.entries(mounts)) this.mount(prefix, folder);
    this.url = `http://localhost:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  /** The longest matching prefix wins. */
  mount(prefix: string, folder: string): void {
    this.#mounts = [...this.#mounts, [prefix, folder] as [string, string]];
    this.#mounts.sort(([a], [b]) => b.length - a.length);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Requests whose path holds `part`. */
  requestsFor(part: string): Request[] {
    return this.requests.filter(({ path }) => path.includes(part));
  }

  reset(): void {
    this.requests.length = 0;
    this.rules = [];
    this.headers = {};
    this.policy = undefined;
  }

  #ruleFor(path: string): Omit<Rule, 'path'> {
    const rule = this.rules.find((it) => path.includes(it.path) && (it.times ?? 1) > 0);
    if (rule?.times !== undefined) rule.times--;
    return rule ?? {};
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.url);
    const { range, 'if-range': ifRange, authorization } = request.headers;
    const method = request.method ?? 'GET';
    this.requests.push({ method, path: pathname, range, ifRange: ifRange as string | undefined, authorization });
    for (const [name, value] of Object.entries(this.headers)) response.setHeader(name, value);
    if (pathname === '/favicon.ico') {
      response.writeHead(204).end();
      return;
    }
    const rule = this.#ruleFor(pathname);
    for (const [name, value] of Object.entries(rule.headers ?? {})) response.setHeader(name, value);
    if (rule.delayMs) await sleep(rule.delayMs);
    if (rule.drop) {
      response.destroy();
      return;
    }
    if (rule.body !== undefined) {
      response.writeHead(rule.status ?? 200, { 'Content-Type': rule.type ?? 'text/html' }).end(rule.body);
      return;
    }
    const path = this.#file(pathname);
    const info = path === undefined ? undefined : await stat(path).catch(() => undefined);
    if (path === undefined || !info?.isFile() || (rule.status && rule.status !== 200)) {
      const status = rule.status ?? 404;
      response.writeHead(status, { 'Content-Type': 'text/plain' }).end(`status ${status}`);
      return;
    }
    await this.#sendFile(path, info.size, rule, request, response);
  }

  #file(pathname: string): string | undefined {
    const path = normalize(decodeURIComponent(pathname));
    const mount = this.#mounts.find(([prefix]) => path.startsWith(prefix));
    if (!mount) return undefined;
    const rest = path.slice(mount[0].length);
    return join(mount[1], rest === '' || rest.endsWith('/') ? `${rest}index.html` : rest);
  }

  async #sendFile(
    path: string,
    size: number,
    rule: Omit<Rule, 'path'>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const type = rule.type ?? TYPES[extname(path)] ?? 'application/octet-stream';
    const etag = rule.etag ?? `"${size}"`;
    response.setHeader('Content-Type', type);
    response.setHeader('ETag', etag);
    if (type.startsWith('text/html') && this.policy) response.setHeader('Content-Security-Policy', this.policy);
    let start = 0;
    const asked = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
    const ifRange = request.headers['if-range'];
    if (asked && rule.ranges !== false && (ifRange === undefined || ifRange === etag)) {
      start = Number(asked[1]);
      if (start >= size) {
        response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end();
        return;
      }
      response.statusCode = 206;
      response.setHeader('Content-Range', `bytes ${start}-${size - 1}/${size}`);
    }
    const accepted = String(request.headers['accept-encoding']).includes('gzip');
    const gzip = rule.gzip === 'always' || (rule.gzip === 'accepted' && accepted);
    if (gzip) response.setHeader('Content-Encoding', 'gzip');
    else if (rule.length !== false) response.setHeader('Content-Length', size - start);
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    await sendBody(path, start, gzip, rule, response);
  }
}

async function sendBody(
  path: string,
  start: number,
  gzip: boolean,
  rule: Omit<Rule, 'path'>,
  response: ServerResponse,
): Promise<void> {
  const file = createReadStream(path, { start });
  if (gzip) {
    file.pipe(createGzip()).pipe(response);
    return;
  }
  let sent = 0;
  for await (const chunk of file as AsyncIterable<Buffer>) {
    if (response.destroyed) return;
    const left = (rule.cutAfter ?? Infinity) - sent;
    const part = chunk.subarray(0, left);
    sent += part.length;
    await new Promise<void>((resolve) => response.write(part, () => resolve()));
    if (part.length < chunk.length || left === part.length) {
      // The connection ends without the rest. A browser drops bytes that its page has not read by then, so wait for a
      // busy one.
      await sleep(1000);
      response.destroy();
      return;
    }
    if (rule.bytesPerSecond) await sleep((part.length / rule.bytesPerSecond) * 1000);
  }
  response.end();
}
