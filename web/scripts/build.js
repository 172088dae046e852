// Builds dist/, the published package: declarations by tsc, scripts by rolldown, and the wasm module and the model beside
// them, for `new URL(…, import.meta.url)`. And the packages of the other models.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { writeModelPackages } from './model-packages.js';
import { filesOf, MODELS } from './models.js';

const WEB = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = join(WEB, 'dist');
/** The wasm modules, by name. */
const MODULES = {
  wordloom_web: join(WEB, 'pkg'),
  wordloom_web_documents: join(WEB, 'pkg-documents'),
  wordloom_web_tokenizer: join(WEB, 'pkg-tokenizer'),
  wordloom_web_train: join(WEB, 'pkg-train'),
};
const [MODEL] = MODELS;
/** Entries that share chunks. A worker is one file, because a chain of imports would be a chain of requests. */
const BUNDLES = [
  { platform: 'browser', entries: ['index', 'core', 'translator-api'] },
  { platform: 'browser', entries: ['worker'] },
  // not with the others: a chunk that they shared would be one more request of every page
  { platform: 'browser', entries: ['documents'] },
  { platform: 'browser', entries: ['document-worker'] },
  { platform: 'browser', entries: ['train'] },
  { platform: 'browser', entries: ['check'] },
  { platform: 'browser', entries: ['train-worker'] },
  { platform: 'node', entries: ['node', 'translator-api-node'] },
  { platform: 'node', entries: ['worker-node'] },
];

for (const [name, folder] of Object.entries(MODULES)) {
  if (existsSync(join(folder, `${name}_bg.wasm`))) continue;
  console.error(`${folder} is missing: \`cargo xtask web\` builds the wasm modules first`);
  process.exit(1);
}
rmSync(DIST, { recursive: true, force: true });
mkdirSync(join(DIST, 'model'), { recursive: true });

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
execFileSync(process.execPath, [tsc, '-p', join(WEB, 'ts')], { stdio: 'inherit' });

const manifest = {};
const sizes = {};
for (const { name, bytes, sha256 } of filesOf(MODEL)) {
  copyFileSync(join(MODEL, name), join(DIST, 'model', name));
  manifest[name] = sha256;
  sizes[name] = bytes;
}
for (const [name, folder] of Object.entries(MODULES)) {
  copyFileSync(join(folder, `${name}_bg.wasm`), join(DIST, `${name}_bg.wasm`));
}
for (const name of ['MODEL_CARD.md', 'LICENSE.md']) copyFileSync(join(MODEL, name), join(DIST, 'model', name));
for (const name of ['LICENSE-MIT', 'LICENSE-APACHE', 'licences/licences.txt']) {
  copyFileSync(join(WEB, '..', name), join(DIST, basename(name)));
}

// The glue's default address of the module is never used, but bundlers would follow it.
const glue = {
  name: 'wasm-glue',
  resolveId(id) {
    const found = Object.entries(MODULES).find(([name]) => id.endsWith(`/${name}.js`));
    return found ? join(found[1], `${found[0]}.js`) : null;
  },
};

for (const { platform, entries } of BUNDLES) {
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((name) => [name, join(WEB, 'ts', `${name}.ts`)])),
    platform,
    plugins: [glue],
    transform: { target: 'es2022', define: { __MODEL_MANIFEST__: JSON.stringify(manifest), __MODEL_SIZES__: JSON.stringify(sizes) } },
  });
  const chunkFileNames = `${platform}-[name]-[hash].js`;
  await bundle.write({ dir: DIST, format: 'esm', chunkFileNames, minify: 'dce-only', comments: false });
  await bundle.close();
}
writeModelPackages(join(WEB, 'models'), JSON.parse(readFileSync(join(WEB, 'package.json'), 'utf8')).version);
