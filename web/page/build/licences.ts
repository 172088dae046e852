/** `licences.txt`: the licences of everything that the page has from others. `cargo xtask licences` writes it. */
import { createReadStream } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from 'vite';

const NAME = 'licences.txt';

export function licences(file: string): Plugin {
  let out = '';
  return {
    name: 'wordloom-licences',
    configResolved(config) {
      out = config.build.outDir;
    },
    configureServer(server) {
      server.middlewares.use(`/${NAME}`, (_, response, next) => {
        response.setHeader('Content-Type', 'text/plain; charset=utf-8');
        createReadStream(file).on('error', next).pipe(response);
      });
    },
    async closeBundle() {
      if (this.environment?.mode !== 'dev') await copyFile(file, join(out, NAME));
    },
  };
}
