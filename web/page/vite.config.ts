import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

import { licences } from './build/licences.ts';
import { models } from './build/models.ts';
import { offline } from './build/offline.ts';
import { workerOnly } from './build/worker-only.ts';
import { MODELS } from '../scripts/models.js';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('.'),
  base: './',
  plugins: [
    workerOnly(),
    models(MODELS),
    licences(here('../../licences/licences.txt')),
    offline(here('src/sw.ts')),
  ],
  resolve: {
    // the longer name first, because a name is also the beginning of an address
    alias: {
      'wordloom/documents': here('../dist/documents.js'),
      'wordloom/check': here('../dist/check.js'),
      'wordloom/train': here('../dist/train.js'),
      // `core` has no copy of the model, because the page serves it from `model/`
      wordloom: here('../dist/core.js'),
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  worker: { format: 'es' },
  build: {
    outDir: here('../../cli/site'),
    emptyOutDir: true,
    target: 'es2022',
    // the content security policy forbids `data:` modules
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
