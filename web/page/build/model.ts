/** The default model: served from the repository in development, copied into a build, with the list `models.json`. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Plugin } from 'vite';

const KINDS = /\.(json|safetensors|spm)$/;
/** Reference results for tests. */
const NOT_SERVED = 'expected.json';
const LIST = 'models.json';

export function model(folder: string): Plugin {
  let out = '';
  return {
    name: 'wordloom-model',
    configResolved(config) {
      out = join(config.build.outDir, 'model');
    },
    configureServer(server) {
      server.middlewares.use(`/${LIST}`, (_, response, next) => {
        list(folder).then(
          (text) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(text),
          () => next(),
        );
      });
      server.middlewares.use('/model/', (request, response, next) => {
        const name = basename(new URL(request.url ?? '', 'http://localhost').pathname);
        if (!KINDS.test(name) || name === NOT_SERVED) {
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
      await mkdir(out, { recursive: true });
      const names = await served(folder);
      await Promise.all(names.map((name) => copyFile(join(folder, name), join(out, name))));
      await writeFile(join(out, '..', LIST), await list(folder));
    },
  };
}

async function served(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => KINDS.test(name) && name !== NOT_SERVED).sort();
}

/** The list of models with this one (docs/models-json.md). `wordloom serve` has one of its own. */
async function list(folder: string): Promise<string> {
  const json = async (name: string): Promise<Record<string, string>> =>
    JSON.parse(await readFile(join(folder, name), 'utf8')) as Record<string, string>;
  const { model_type: family } = await json('config.json');
  const { source_lang: source, target_lang: target } = await json('tokenizer_config.json');
  const names = await served(folder);
  const files = await Promise.all(
    names.map(async (name) => {
      const content = await readFile(join(folder, name));
      return { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
    }),
  );
  const model = {
    name: basename(folder).replace(/-q8$/, ''),
    family,
    pairs: [[source, target]],
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    licence: 'CC-BY-2.0-FR',
    url: 'model/',
    files: Object.fromEntries(names.map((name, index) => [name, files[index]])),
  };
  return `${JSON.stringify({ version: 1, models: [model] }, null, 2)}\n`;
}
