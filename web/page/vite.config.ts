import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

import { model } from './build/model.ts';
import { offline } from './build/offline.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('.'),
  base: './',
  plugins: [model(here('../../models/tatoeba-en-de')), offline(here('src/sw.ts'))],
  resolve: {
    alias: {
      // `core` is the package without its own copy of the model, which the page serves from `model/`
      wordloom: here('../dist/core.js'),
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  worker: { format: 'es' },
  build: {
    outDir: here('../site'),
    emptyOutDir: true,
    target: 'es2022',
    // a content security policy allows no data: modules, and there is nothing worth inlining
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
