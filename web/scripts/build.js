// Builds dist/, the published package: declarations by tsc, scripts by rolldown, and the wasm module and the model beside
// them, for `new URL(…, import.meta.url)`.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const WEB = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = join(WEB, 'dist');
const PKG = join(WEB, 'pkg');
const MODEL = join(WEB, '../models/tatoeba-en-de-q8');
const MODEL_FILES = [
  'config.json',
  'generation_config.json',
  'tokenizer_config.json',
  'vocab.json',
  'source.spm',
  'target.spm',
  'model.safetensors',
];
/** Entries that share chunks. A worker is one file, because a chain of imports would be a chain of requests. */
const BUNDLES = [
  { platform: 'browser', entries: ['index', 'core', 'translator-api'] },
  { platform: 'browser', entries: ['worker'] },
  { platform: 'node', entries: ['node', 'translator-api-node'] },
  { platform: 'node', entries: ['worker-node'] },
];

if (!existsSync(join(PKG, 'wordloom_web_bg.wasm'))) {
  console.error('web/pkg is missing: `cargo xtask web` builds the wasm module first');
  process.exit(1);
}
rmSync(DIST, { recursive: true, force: true });
mkdirSync(join(DIST, 'model'), { recursive: true });

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
execFileSync(process.execPath, [tsc, '-p', join(WEB, 'ts')], { stdio: 'inherit' });

const manifest = {};
for (const name of MODEL_FILES) {
  copyFileSync(join(MODEL, name), join(DIST, 'model', name));
  manifest[name] = createHash('sha256').update(readFileSync(join(MODEL, name))).digest('hex');
}
copyFileSync(join(PKG, 'wordloom_web_bg.wasm'), join(DIST, 'wordloom_web_bg.wasm'));
for (const name of ['MODEL_CARD.md', 'LICENSE.md']) copyFileSync(join(MODEL, name), join(DIST, 'model', name));
for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) copyFileSync(join(WEB, '..', name), join(DIST, name));

// The glue's default address of the module is never used, but bundlers would follow it.
const glue = {
  name: 'wasm-glue',
  resolveId: (id) => (id.endsWith('/wordloom_web.js') ? join(PKG, 'wordloom_web.js') : null),
};

for (const { platform, entries } of BUNDLES) {
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((name) => [name, join(WEB, 'ts', `${name}.ts`)])),
    platform,
    plugins: [glue],
    transform: { target: 'es2022', define: { __MODEL_MANIFEST__: JSON.stringify(manifest) } },
  });
  const chunkFileNames = `${platform}-[name]-[hash].js`;
  await bundle.write({ dir: DIST, format: 'esm', chunkFileNames, minify: 'dce-only', comments: false });
  await bundle.close();
}
