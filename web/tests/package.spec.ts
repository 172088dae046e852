/** The packed package in projects of users. Each translates a sentence with the first example of the README. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, type Page, test as base } from '@playwright/test';
import { grown } from './support/grown.ts';
import { FIXTURES_FOLDER } from './support/harness.ts';
import { pack, Project, tool } from './support/project.ts';
import { TestServer } from './support/server.ts';

/** The tools that the README names. */
const STRICT = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
/** The README's first example, with the result visible to a test. */
const FIVE_LINES = /```js\n([^]*?)```/.exec(README)![1]!;
const MAIN = FIVE_LINES.replace('console.log(', 'document.title = (');
const HTML = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Waiting</title>
<script type="module" src="./main.js"></script></head><body></body></html>`;

const test = base.extend<object, { tarball: string }>({
  tarball: [
    async ({}, use) => {
      const { tarball, remove } = await pack();
      await use(tarball);
      await remove();
    },
    { scope: 'worker' },
  ],
});

/** Opens a page and waits for its translation. No request may fail. */
async function expectTranslation(page: Page, url: string, translation = 'Wo ist der Bahnhof?'): Promise<void> {
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(url);
  await expect(page).toHaveTitle(translation, { timeout: 60_000 });
  expect(complaints).toEqual([]);
}

test('what is packed: everything that is needed, and nothing else', async () => {
  const { files, remove } = await pack();
  await remove();
  const scripts = files.filter((name) => name.endsWith('.js') || name.endsWith('.wasm'));
  const later = [
    ...['documents.js', 'document-worker.js', 'wordloom_web_documents_bg.wasm'],
    'wordloom_web_tokenizer_bg.wasm',
    ...['train.js', 'train-worker.js', 'wordloom_web_train_bg.wasm'],
  ];
  for (const name of ['index.js', 'core.js', 'worker.js', 'node.js', 'index.d.ts', 'wordloom_web_bg.wasm', ...later]) {
    expect(files).toContain(`dist/${name}`);
  }
  expect(files).toContain('dist/model/model.safetensors');
  expect(files).toContain('README.md');
  expect(files.filter((name) => !/^(dist\/|README\.md$|package\.json$)/.test(name))).toEqual([]);
  const bytes = scripts
    .filter((name) => !name.includes('node') && !later.includes(name.replace('dist/', '')))
    .reduce((sum, name) => sum + gzipSync(readFileSync(new URL(`../${name}`, import.meta.url))).length, 0);
  expect(bytes).toBeLessThan(2_000_000);
});

test('a Vite project, built', async ({ page, tarball }) => {
  const project = await Project.create([tarball], { 'index.html': HTML, 'main.js': MAIN }, ['vite']);
  await project.node(tool('vite/bin/vite.js'), 'build');
  const server = await TestServer.start({ '/': join(project.folder, 'dist/') });
  server.policy = STRICT;
  await expectTranslation(page, server.url);
  // The model is there once, without files that were not requested.
  const assets = await readdir(join(project.folder, 'dist/assets'));
  expect(assets.filter((name) => name.endsWith('.safetensors')).length).toBe(1);
  const modules = assets.filter((name) => name.endsWith('.wasm')).map((name) => name.replace(/-.*/, ''));
  expect(modules.sort()).toEqual(['wordloom_web_bg', 'wordloom_web_tokenizer_bg']);
  await server.stop();
  await project.remove();
});

test('a Vite project, under development', async ({ page, tarball }) => {
  const files = { 'index.html': HTML, 'main.js': MAIN, 'favicon.ico': '' };
  const project = await Project.create([tarball], files, ['vite']);
  const vite = spawn(process.execPath, [tool('vite/bin/vite.js'), '--port', '0', '--host', '127.0.0.1'], {
    cwd: project.folder,
    env: { ...process.env, NO_COLOR: '1' },
  });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let told = '';
      vite.stdout.on('data', (chunk: Buffer) => {
        told += chunk.toString();
        const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(told);
        if (found) resolve(found[0]);
      });
      vite.on('exit', () => reject(new Error(`vite has ended: ${told}`)));
    });
    await expectTranslation(page, url);
  } finally {
    vite.kill();
    await project.remove();
  }
});

test('a webpack project', async ({ page, tarball }) => {
  const build = `
    import webpack from 'webpack';
    const output = { path: import.meta.dirname + '/dist', filename: 'main.js' };
    webpack({ mode: 'production', entry: './main.js', output }, (error, stats) => {
      if (error || stats.hasErrors()) { console.error(error ?? stats.toString()); process.exitCode = 1; }
    });`;
  const project = await Project.create([tarball], { 'main.js': MAIN, 'build.js': build }, ['webpack']);
  await project.node('build.js');
  await project.write({ 'dist/index.html': HTML });
  const server = await TestServer.start({ '/': join(project.folder, 'dist/') });
  server.policy = STRICT;
  await expectTranslation(page, server.url);
  await server.stop();
  await project.remove();
});

test('plain HTML, without a build', async ({ page, tarball }) => {
  const main = MAIN.replace("'wordloom'", "'./node_modules/wordloom/dist/index.js'");
  const project = await Project.create([tarball], { 'index.html': HTML, 'main.js': main });
  const server = await TestServer.start({ '/': `${project.folder}/` });
  server.policy = STRICT;
  await expectTranslation(page, server.url);
  await server.stop();
  await project.remove();
});

test('a page whose policy forbids wasm says what to change', async ({ page, tarball }) => {
  const main = `import { Translator } from './node_modules/wordloom/dist/index.js';
    Translator.create({ device: 'cpu' }).catch(({ kind, message }) => (document.title = kind + ': ' + message));`;
  const project = await Project.create([tarball], { 'index.html': HTML, 'main.js': main });
  const server = await TestServer.start({ '/': `${project.folder}/` });
  server.headers = { 'Content-Security-Policy': "default-src 'self'" };
  await page.goto(server.url);
  await expect(page).toHaveTitle(/^unsupported: .*add 'wasm-unsafe-eval' to its script-src/);
  await server.stop();
  await project.remove();
});

test('Node', async ({ tarball }) => {
  const project = await Project.create([tarball], { 'main.js': FIVE_LINES });
  expect(await project.node('main.js')).toBe('Wo ist der Bahnhof?\n');
  // a program without a file
  const line = "import('wordloom').then(async (w) => { const t = await w.Translator.create(); console.log((await t.translate('Thanks.')).text + ' ' + (w.DOCUMENT_ENDINGS.length > 9)); t.destroy(); })";
  expect(await project.node('--input-type=module', '-e', line)).toBe('Danke. true\n');
  // options that Node gives to no thread
  expect(await project.node('--max-old-space-size=4096', 'main.js')).toBe('Wo ist der Bahnhof?\n');
  expect(await project.node('--max-old-space-size=4096', '--input-type=module', '-e', line)).toBe('Danke. true\n');
  const relative = "import('wordloom').then((w) => w.readModelList()).catch((error) => console.log(error.kind))";
  expect(await project.node('-e', relative)).toBe('input\n');
  await project.remove();
});

test('a bundle for Node without the worker says how to mend it', async ({ tarball }) => {
  const main = `import { Translator } from 'wordloom';
    Translator.create().catch(({ kind, message }) => console.log(kind + ': ' + message));`;
  const config = "export default { ssr: { noExternal: true }, build: { ssr: 'main.js' } };";
  const project = await Project.create([tarball], { 'main.js': main, 'vite.config.js': config }, ['vite']);
  await project.node(tool('vite/bin/vite.js'), 'build');
  expect(await project.node('dist/main.js')).toMatch(/^unsupported: A bundler has separated .* Keep "wordloom" out of the bundle: esbuild --external/);
  await project.remove();
});

/** The README's lines about a model in a package of its own. */
const PACKAGED = /```js\n(import \{ Translator \} from 'wordloom';\nimport model [^]*?)```/.exec(README)![1]!;
const GERMAN = /from '(wordloom-model-[\w-]+)'/.exec(PACKAGED)![1]!;
const packedModel = () => pack(fileURLToPath(new URL(`../models/${GERMAN}/`, import.meta.url)));

/** Reads a text with a tokenizer whose module the worker fetches itself. */
const TOKENIZE = `import { Translator } from 'wordloom';
const translator = await Translator.create({ model: new URLSearchParams(globalThis.location?.search).get('model') ?? './bart', device: 'cpu' });
const { ids } = await translator.tokenize('Hello world!');
document.title = ids.join(' ');
translator.destroy();
`;

test('a tokenizer in a module of its own: Vite, webpack and Node', async ({ page, tarball }) => {
  const { items } = (JSON.parse(readFileSync(`${FIXTURES_FOLDER}../tokenizers/older.expected.json`, 'utf8')) as { items: [string, number[]][] }[])[0]!;
  const ids = items.find(([text]) => text === 'Hello world!')![1].join(' ');
  const bart = await grown({ model: 'bart', vocabulary: 460, files: { 'vocab.json': 'older.bart-vocab.json', 'merges.txt': 'older.bart-merges.txt' } });
  const webpack = `
    import webpack from 'webpack';
    const output = { path: import.meta.dirname + '/packed', filename: 'main.js' };
    webpack({ mode: 'production', entry: './main.js', output }, (error, stats) => {
      if (error || stats.hasErrors()) { console.error(error ?? stats.toString()); process.exitCode = 1; }
    });`;
  const node = TOKENIZE.replace('document.title = ids', 'console.log(ids').replace("join(' ')", "join(' '))");
  const files = { 'index.html': HTML, 'main.js': TOKENIZE, 'build.js': webpack, 'node.js': node };
  const project = await Project.create([tarball], files, ['vite', 'webpack']);
  await project.node(tool('vite/bin/vite.js'), 'build');
  await project.node('build.js');
  await project.write({ 'packed/index.html': HTML });
  for (const folder of ['dist', 'packed']) {
    const server = await TestServer.start({ '/': join(project.folder, folder, '/'), '/bart/': `${bart}/` });
    server.policy = STRICT;
    await page.goto(`${server.url}/?model=/bart/`);
    await expect(page).toHaveTitle(ids, { timeout: 60_000 });
    expect(server.requestsFor('.wasm').filter(({ path }) => path.includes('tokenizer')).length, folder).toBeLessThanOrEqual(1);
    await server.stop();
  }
  await cp(bart, join(project.folder, 'bart'), { recursive: true });
  expect(await project.node('node.js')).toBe(`${ids}\n`);
  await project.remove();
  await rm(bart, { recursive: true });
});

test('a model in a package of its own: Vite and Node', async ({ page, tarball }) => {
  const model = await packedModel();
  expect(model.files.sort()).toEqual(
    ['LICENSE.md', 'MODEL_CARD.md', 'README.md', 'config.json', 'generation_config.json', 'index.d.ts', 'index.js', 'model.safetensors']
      .concat(['package.json', 'source.spm', 'target.spm', 'tokenizer_config.json', 'vocab.json']),
  );
  const main = PACKAGED.replace('console.log(', 'document.title = (');
  const files = { 'index.html': HTML, 'main.js': main, 'node.js': PACKAGED };
  const project = await Project.create([tarball, model.tarball], files, ['vite']);
  expect(await project.node('node.js')).toBe('Where is the railway station?\n');
  await project.node(tool('vite/bin/vite.js'), 'build');
  const server = await TestServer.start({ '/': join(project.folder, 'dist/') });
  server.policy = STRICT;
  await expectTranslation(page, server.url, 'Where is the railway station?');
  expect(server.requestsFor('.safetensors')).toHaveLength(1);
  await server.stop();
  await project.remove();
  await model.remove();
});

test('a model in a package of its own: plain HTML', async ({ page, tarball }) => {
  const model = await packedModel();
  const main = PACKAGED.replace('console.log(', 'document.title = (')
    .replace("'wordloom'", "'./node_modules/wordloom/dist/core.js'")
    .replace(`'${GERMAN}'`, `'./node_modules/${GERMAN}/index.js'`);
  const project = await Project.create([tarball, model.tarball], { 'index.html': HTML, 'main.js': main });
  const server = await TestServer.start({ '/': `${project.folder}/` });
  server.policy = STRICT;
  await expectTranslation(page, server.url, 'Where is the railway station?');
  await server.stop();
  await project.remove();
  await model.remove();
});

test('TypeScript, with every way to find modules', async ({ tarball }) => {
  const usage = (name: string) => readFileSync(new URL(`types/${name}`, import.meta.url), 'utf8');
  const dom = ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'];
  const found = [
    { module: 'ESNext', moduleResolution: 'bundler', lib: dom, types: [], files: ['usage.ts', 'browser.ts'] },
    { module: 'NodeNext', moduleResolution: 'NodeNext', lib: dom, types: [], files: ['usage.ts'] },
    { module: 'NodeNext', moduleResolution: 'NodeNext', lib: ['ES2023'], types: ['node'], files: ['node.ts'] },
  ];
  const model = await packedModel();
  const sources = Object.fromEntries(['usage.ts', 'browser.ts', 'node.ts'].map((name) => [name, usage(name)]));
  const project = await Project.create([tarball, model.tarball], sources, ['@types/node', 'undici-types']);
  for (const { files, ...options } of found) {
    const compilerOptions = { ...options, target: 'ES2022', strict: true, noEmit: true, skipLibCheck: false };
    await project.write({ 'tsconfig.json': JSON.stringify({ compilerOptions, files }) });
    const output = await project.node(tool('typescript/bin/tsc')).catch((error) => error.stdout);
    expect(output).toBe('');
  }
  await project.remove();
  await model.remove();
});
