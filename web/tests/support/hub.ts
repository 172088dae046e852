/** A small Hugging Face hub: its API, its redirects to another origin, its headers, and its refusals. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Rule, TestServer } from './server.ts';

export const TOKEN = 'hf_right';

interface Repository {
  folder: string;
  /** The files that the hub lists, and their sums. */
  files: { name: string; size: number; sha256: string; blobId: string; lfs: boolean }[];
  commits: Record<string, string>;
  gated: false | 'auto';
  licence: string;
  family: string;
}

/** Kinds of files that the hub keeps outside of git. */
const LARGE = /\.(safetensors|bin|spm)$/;

/** The headers that the hub lets pages read. */
const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'X-Repo-Commit,X-Request-Id,X-Error-Code,X-Error-Message,X-Total-Count,ETag,Link,Accept-Ranges,Content-Range,X-Linked-Size,X-Linked-ETag,X-Xet-Hash',
};

export class MockHub {
  readonly url: string;
  /** The server of large files, at another origin. */
  readonly cdn: TestServer;
  /** `GET /path` of every request, without preflights. */
  readonly requests: { method: string; path: string; authorization: string | undefined }[] = [];
  /** Rules for answers of the hub itself: `status`, `headers`, `drop`, `body`, `times`. */
  rules: Rule[] = [];
  readonly #server: Server;
  readonly #repositories = new Map<string, Repository>();

  static async start(): Promise<MockHub> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const cdn = await TestServer.start({});
    cdn.headers = CORS;
    return new MockHub(server, cdn);
  }

  private constructor(server: Server, cdn: TestServer) {
    this.#server = server;
    this.cdn = cdn;
    this.url = `http://localhost:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => this.#answer(request, response));
  }

  /** Publishes a folder under a name. `also` are listed files that must never be requested. */
  publish(name: string, folder: string, { without = [] as string[], also = [] as string[], gated = false as false | 'auto', commit = '1' } = {}): void {
    const files = readdirSync(folder)
      .filter((file) => !without.includes(file))
      .map((file) => {
        const bytes = readFileSync(join(folder, file));
        const hash = (kind: string, ...parts: (string | Buffer)[]) => {
          return parts.reduce((sum, part) => sum.update(part), createHash(kind)).digest('hex');
        };
        const blobId = hash('sha1', `blob ${bytes.length}\0`, bytes);
        return { name: file, size: bytes.length, sha256: hash('sha256', bytes), blobId, lfs: LARGE.test(file) };
      });
    for (const file of also) files.push({ name: file, size: 1, sha256: '0'.repeat(64), blobId: '0'.repeat(40), lfs: true });
    const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as { model_type: string };
    const commits = { ...this.#repositories.get(name)?.commits, main: commit.repeat(40) };
    this.#repositories.set(name, { folder, files, commits, gated, licence: 'cc-by-4.0', family: config.model_type });
    this.cdn.mount(`/${name}/`, folder);
  }

  /** Adds a branch at the present commit of `main`. */
  branch(name: string, branch: string): void {
    const { commits } = this.#repositories.get(name)!;
    commits[branch] = commits['main']!;
  }

  /** Gives a file another sum than its own. */
  falsify(name: string, file: string): void {
    const found = this.#repositories.get(name)!.files.find((it) => it.name === file)!;
    found.sha256 = 'f'.repeat(64);
    found.blobId = 'f'.repeat(40);
  }

  reset(): void {
    this.requests.length = 0;
    this.rules = [];
    this.cdn.requests.length = 0;
    this.cdn.rules = [];
  }

  /** No request is answered any more. */
  disappear(): void {
    this.rules = [{ path: '/', drop: true }];
    this.cdn.rules = [{ path: '/', drop: true }];
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.cdn.stop();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    const { authorization } = request.headers;
    for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') {
      response.writeHead(204, { 'Access-Control-Allow-Headers': 'authorization,range', 'Access-Control-Allow-Methods': 'GET,HEAD' }).end();
      return;
    }
    this.requests.push({ method: request.method ?? 'GET', path: pathname, authorization });
    const rule = this.rules.find((it) => pathname.includes(it.path) && (it.times ?? 1) > 0);
    if (rule?.times !== undefined) rule.times--;
    if (rule?.drop) {
      response.destroy();
      return;
    }
    if (rule) {
      response.writeHead(rule.status ?? 200, { 'Content-Type': 'application/json', ...rule.headers }).end(rule.body ?? '{}');
      return;
    }
    const json = (status: number, value: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(value));
    const refuse = (status: number, code: string) => json(status, { error: code }, { 'X-Error-Code': code, 'X-Error-Message': code });
    if (pathname === '/api/models') {
      const wanted = searchParams.get('search') ?? '';
      const found = [...this.#repositories.keys()].filter((name) => name.includes(wanted.split('-').slice(0, 2).join('-')));
      json(200, found.map((id) => ({ id })));
      return;
    }
    const api = /^\/api\/models\/([^/]+\/[^/]+)\/revision\/(.+)$/.exec(pathname);
    const file = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/([^/]+)$/.exec(pathname);
    const [, name = '', revision = '', wanted = ''] = (api ?? file ?? []).map(decodeURIComponent);
    const repository = this.#repositories.get(name);
    // As the hub: without a token, it does not say whether a name exists.
    if (!repository) return void (authorization ? refuse(404, 'RepoNotFound') : refuse(401, 'RepoNotFound'));
    const commit = Object.values(repository.commits).find((it) => it === revision) ?? repository.commits[revision];
    if (commit === undefined) return void refuse(404, 'RevisionNotFound');
    if (api) {
      const siblings = repository.files.map(({ name: rfilename, size, sha256, blobId, lfs }) => {
        return { rfilename, size, blobId, ...(lfs ? { lfs: { sha256, size, pointerSize: 133 } } : {}) };
      });
      json(200, {
        id: name,
        sha: commit,
        gated: repository.gated,
        siblings,
        cardData: { license: repository.licence, language: ['en', 'de'] },
        config: { model_type: repository.family },
      });
      return;
    }
    if (repository.gated && authorization !== `Bearer ${TOKEN}`) return void refuse(authorization ? 403 : 401, 'GatedRepo');
    const found = repository.files.find((it) => it.name === wanted);
    if (!found) return void refuse(404, 'EntryNotFound');
    response.setHeader('X-Repo-Commit', commit);
    if (!found.lfs) {
      response.writeHead(200, { ETag: `"${found.blobId}"`, 'Content-Length': found.size, 'Content-Type': 'text/plain' });
      response.end(readFileSync(join(repository.folder, wanted)));
      return;
    }
    const elsewhere = this.cdn.url.replace('localhost', '127.0.0.1');
    response
      .writeHead(302, { Location: `${elsewhere}/${name}/${wanted}`, 'X-Linked-ETag': `"${found.sha256}"`, 'X-Linked-Size': found.size })
      .end();
  }
}
