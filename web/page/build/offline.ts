/** Builds the service worker, with the list of the page's files and a version from their contents. */
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { transformWithOxc } from 'vite';

/** Files of the tab "Train", of documents and of some models' tokenizers: kept when they are first used, because most visitors
 * never do. */
const LATER = /^assets\/(Train|train|wordloom_web_train|document|wordloom_web_documents|fast-tokenizer|browser-fast-tokenizer|wordloom_web_tokenizer)/;

export function offline(source: string): Plugin {
  let publicFolder = '';
  return {
    name: 'wordloom-offline',
    apply: 'build',
    configResolved(config) {
      publicFolder = config.publicDir;
    },
    generateBundle: {
      order: 'post',
      async handler(_, bundle) {
        const hash = createHash('sha256');
        const files: string[] = [];
        const later: string[] = [];
        const add = (name: string, content: string | Uint8Array): void => {
          // the page's own address, because a server may redirect from the file name
          (LATER.test(name) ? later : files).push(name === 'index.html' ? './' : name);
          hash.update(name).update('\0').update(content).update('\0');
        };
        for (const name of Object.keys(bundle).sort()) {
          const file = bundle[name];
          if (file === undefined || name.endsWith('.map')) continue;
          add(name, file.type === 'chunk' ? file.code : file.source);
        }
        for (const name of (await readdir(publicFolder)).filter((name) => !name.startsWith('.')).sort()) {
          add(name, await readFile(join(publicFolder, name)));
        }
        const version = hash.digest('hex').slice(0, 16);
        const { code } = await transformWithOxc(await readFile(source, 'utf8'), source, {});
        const constants = { WORDLOOM_VERSION: version, WORDLOOM_FILES: files, WORDLOOM_LATER: later };
        const head = Object.entries(constants).map(
          ([name, value]) => `const ${name} = ${JSON.stringify(value)};\n`,
        );
        this.emitFile({
          type: 'asset',
          fileName: 'sw.js',
          source: head.join('') + code.replace(/^export \{\};?$/m, ''),
        });
      },
    },
  };
}
