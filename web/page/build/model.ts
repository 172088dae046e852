/** The default model: served from the repository in development, copied into a build. */
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Plugin } from 'vite';

const KINDS = /\.(json|safetensors|spm)$/;
/** Reference results for tests. */
const NOT_SERVED = 'expected.json';

export function model(folder: string): Plugin {
  let out = '';
  return {
    name: 'wordloom-model',
    configResolved(config) {
      out = join(config.build.outDir, 'model');
    },
    configureServer(server) {
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
      const names = (await readdir(folder)).filter((name) => KINDS.test(name) && name !== NOT_SERVED);
      await Promise.all(names.map((name) => copyFile(join(folder, name), join(out, name))));
    },
  };
}
