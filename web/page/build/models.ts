/** The models of the site: served from the repository in development, copied into a build, with the list `models.json`. */
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from 'vite';

import { filesOf, LICENCE, nameOf } from '../../scripts/models.js';

const LIST = 'models.json';

/** The page opens the first model; the others are there for those who choose them. */
export function models(folders: readonly string[]): Plugin {
  let out = '';
  return {
    name: 'wordloom-models',
    configResolved(config) {
      out = config.build.outDir;
    },
    configureServer(server) {
      server.middlewares.use(`/${LIST}`, (_, response, next) => {
        list(folders).then(
          (text) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(text),
          () => next(),
        );
      });
      server.middlewares.use((request, response, next) => {
        const path = new URL(request.url ?? '', 'http://localhost').pathname.slice(1);
        const folder = folders.find((folder, index) => path.startsWith(addressOf(folder, index)));
        if (folder === undefined) {
          next();
          return;
        }
        const name = path.slice(path.lastIndexOf('/') + 1);
        if (!filesOf(folder).some((file) => file.name === name)) {
          response.writeHead(404).end();
          return;
        }
        stat(join(folder, name)).then(
          ({ size }) => {
            const type = name.endsWith('.json') ? 'application/json' : 'application/octet-stream';
            response.writeHead(200, { 'Content-Type': type, 'Content-Length': size });
            if (request.method === 'HEAD') response.end();
            else createReadStream(join(folder, name)).on('error', next).pipe(response);
          },
          () => response.writeHead(404).end(),
        );
      });
    },
    async closeBundle() {
      if (this.environment?.mode === 'dev') return;
      for (const [index, folder] of folders.entries()) {
        const target = join(out, addressOf(folder, index));
        await mkdir(target, { recursive: true });
        await Promise.all(filesOf(folder).map(({ name }) => copyFile(join(folder, name), join(target, name))));
      }
      await writeFile(join(out, LIST), await list(folders));
    },
  };
}

function addressOf(folder: string, index: number): string {
  return index === 0 ? 'model/' : `models/${nameOf(folder)}/`;
}

/** The list of models (docs/models-json.md). `wordloom serve` has one of its own. */
async function list(folders: readonly string[]): Promise<string> {
  const models = await Promise.all(folders.map((folder, index) => entry(folder, addressOf(folder, index))));
  return `${JSON.stringify({ version: 1, models }, null, 2)}\n`;
}

async function entry(folder: string, url: string): Promise<object> {
  const json = async (name: string): Promise<Record<string, string>> =>
    JSON.parse(await readFile(join(folder, name), 'utf8')) as Record<string, string>;
  const { model_type: family } = await json('config.json');
  const { source_lang: source, target_lang: target } = await json('tokenizer_config.json');
  const files = filesOf(folder);
  return {
    name: nameOf(folder),
    family,
    pairs: [[source, target]],
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    licence: LICENCE,
    url,
    files: Object.fromEntries(files.map(({ name, bytes, sha256 }) => [name, { bytes, sha256 }])),
  };
}
