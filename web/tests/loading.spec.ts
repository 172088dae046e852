/** Loading of models: storage, resumed downloads, checks, and errors. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import type { BrowserContext, Page } from '@playwright/test';
import type * as Documents from '../ts/documents.ts';
import type * as Node from '../ts/node.ts';
import type * as Train from '../ts/train.ts';
import type { CreateOptions, ProgressEvent } from '../ts/types.ts';
import { FIREFOX_CASE, FIREFOX_FOLDER, packFirefoxModel } from './support/firefox.ts';
import { expect, MODEL_FOLDER, openHarness, test } from './support/harness.ts';
import { expectWithin } from './support/machine.ts';
import type { TestServer } from './support/server.ts';
import { pickled } from './support/pickles.ts';
import { sharded } from './support/shards.ts';

const WEIGHTS = 'model.safetensors';
const SIZE = statSync(MODEL_FOLDER + WEIGHTS).size;
const FILES = [
  'config.json',
  'generation_config.json',
  'tokenizer_config.json',
  'vocab.json',
  'source.spm',
  'target.spm',
  WEIGHTS,
];
const TOTAL = FILES.reduce((sum, name) => sum + statSync(MODEL_FOLDER + name).size, 0);

interface Outcome {
  text?: string;
  error?: { kind: string; name: string; message: string };
  events: ProgressEvent[];
  milliseconds: number;
}

/** Loads a model, translates one word, and destroys it. */
function load(page: Page, options: Omit<CreateOptions, 'onProgress' | 'signal'> & { model?: string }): Promise<Outcome> {
  return page.evaluate(async (options) => {
    const events: ProgressEvent[] = [];
    const begun = performance.now();
    const outcome = (rest: object) => ({ events, milliseconds: performance.now() - begun, ...rest });
    try {
      const onProgress = (event: ProgressEvent) => events.push(event);
      const translator = await wordloom.Translator.create({ device: 'cpu', ...options, onProgress });
      const { text } = await translator.translate('Thank you.', { beams: 1 });
      translator.destroy();
      return outcome({ text });
    } catch (error) {
      if (!(error instanceof wordloom.WordloomError)) throw error;
      const { kind, name, message } = error;
      return outcome({ error: { kind, name, message } });
    }
  }, options) as Promise<Outcome>;
}

const downloads = ({ events }: Outcome) => events.filter((event) => event.stage === 'download');
const warnings = ({ events }: Outcome) =>
  events.filter((event) => event.stage === 'warning').map(({ message }) => message);

async function secondPage(context: BrowserContext, server: TestServer): Promise<Page> {
  const page = await context.newPage();
  await openHarness(page, server);
  return page;
}

test('a folder is fetched once, file by file, and never again', async ({ api, server, context }) => {
  server.requests.length = 0;
  const model = `${server.url}/model/`;
  const first = await load(api, { model });
  expect(first.text).toBe('Danke.');
  expect(warnings(first)).toEqual([]);
  const fetched = server.requestsFor('/model/').map(({ path }) => path.replace('/model/', ''));
  expect(fetched.sort()).toEqual([...FILES].sort());
  const last = downloads(first).at(-1)!;
  expect(last).toMatchObject({ file: WEIGHTS, loaded: TOTAL, total: TOTAL, fileLoaded: SIZE, fileTotal: SIZE });
  const loaded = downloads(first).map((event) => event.loaded);
  expect(loaded).toEqual([...loaded].sort((a, b) => a - b));

  server.requests.length = 0;
  await api.close();
  const second = await load(await secondPage(context, server), { model });
  expect(second.text).toBe('Danke.');
  expect(server.requestsFor('/model/')).toEqual([]);
  expect(downloads(second).every(({ fromCache }) => fromCache)).toBe(true);
  expect(downloads(second).at(-1)).toMatchObject({ loaded: TOTAL, total: TOTAL });
});

test('the bundled model is kept, too', async ({ api, server }) => {
  await load(api, {});
  server.rules = [{ path: '/dist/model', drop: true }];
  const again = await load(api, {});
  expect(again.text).toBe('Danke.');
});

test('cache: "none" keeps nothing', async ({ api, server }) => {
  await load(api, { cache: 'none' });
  server.requests.length = 0;
  const again = await load(api, { cache: 'none' });
  expect(again.text).toBe('Danke.');
  expect(server.requestsFor('/dist/model/').length).toBe(FILES.length);
  const kept = await api.evaluate(async () => {
    const names: string[] = [];
    for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name);
    return names;
  });
  expect(kept).toEqual([]);
});

test('a download that is cut off goes on where it stopped', async ({ api, server }) => {
  server.rules = [{ path: WEIGHTS, cutAfter: 5_000_000, times: 1 }];
  const model = `${server.url}/model/`;
  expect((await load(api, { model })).text).toBe('Danke.');
  const [first, second, ...more] = server.requestsFor(WEIGHTS);
  expect(more).toEqual([]);
  expect(first!.range).toBe('bytes=0-');
  expect(Number(/\d+/.exec(second!.range!))).toBeGreaterThan(1_000_000);
  expect(second!.ifRange).toBe(`"${SIZE}"`);
});

test('a later visit fetches only the rest', async ({ api, server, context }) => {
  const model = `${server.url}/model/`;
  server.rules = [{ path: WEIGHTS, cutAfter: 6_000_000, times: 1 }, { path: WEIGHTS, status: 503 }];
  const { error } = await load(api, { model });
  expect(error?.kind).toBe('network');
  expect(error?.message).toMatch(/model\.safetensors answered with status 503: \d+ of 18822816 bytes/);
  expect(error?.message).toContain('goes on where it stopped');
  await api.close();

  server.rules = [];
  server.requests.length = 0;
  const page = await secondPage(context, server);
  expect((await load(page, { model })).text).toBe('Danke.');
  const [rest, ...more] = server.requestsFor(WEIGHTS);
  expect(more).toEqual([]);
  expect(Number(/\d+/.exec(rest!.range!))).toBeGreaterThan(1_000_000);
  // Complete small files are not requested again.
  expect(server.requestsFor('source.spm')).toEqual([]);
});

test('a server without ranges: what comes again is not kept again', async ({ api, server }) => {
  server.rules = [
    { path: WEIGHTS, cutAfter: 5_000_000, ranges: false, times: 1 },
    { path: WEIGHTS, ranges: false },
  ];
  expect((await load(api, { model: `${server.url}/model/` })).text).toBe('Danke.');
  expect(server.requestsFor(WEIGHTS).length).toBe(2);
});

test('a server that always cuts off: how far it came, and what to do', async ({ api, server }) => {
  server.rules = [{ path: WEIGHTS, cutAfter: 1_000_000, ranges: false }];
  const { error } = await load(api, { model: `${server.url}/model/` });
  expect(error?.kind).toBe('network');
  expect(error?.message).toMatch(/model\.safetensors was cut off: \d+ of 18822816 bytes have arrived/);
});

test('a file that changes between two visits is fetched anew', async ({ api, server, context }) => {
  const model = `${server.url}/model/`;
  server.rules = [{ path: WEIGHTS, cutAfter: 6_000_000, times: 1, etag: '"old"' }, { path: WEIGHTS, status: 503 }];
  expect((await load(api, { model })).error?.kind).toBe('network');
  await api.close();
  server.rules = [{ path: WEIGHTS, etag: '"new"' }];
  const page = await secondPage(context, server);
  expect((await load(page, { model })).text).toBe('Danke.');
});

test('lengths that nobody tells, and compression', async ({ api, server }) => {
  server.rules = [
    { path: 'vocab.json', gzip: 'accepted' },
    { path: 'tokenizer_config.json', ranges: false, gzip: 'always' },
    { path: 'source.spm', length: false, ranges: false },
    { path: WEIGHTS, length: false, ranges: false },
  ];
  const outcome = await load(api, { model: `${server.url}/model/` });
  expect(outcome.text).toBe('Danke.');
  expect(downloads(outcome).at(-1)).toMatchObject({ loaded: TOTAL, total: TOTAL });
});

test('another origin, which lets no Range header through', async ({ api, server, page }) => {
  void api;
  server.headers = { 'Access-Control-Allow-Origin': '*' };
  const elsewhere = server.url.replace('localhost', '127.0.0.1');
  const outcome = await load(page, { model: `${elsewhere}/model/` });
  expect(outcome.text).toBe('Danke.');
});

test('weights in several files', async ({ api, server }) => {
  const folder = await sharded(MODEL_FOLDER, 3);
  server.mount('/shards/', `${folder}/`);
  const model = `${server.url}/shards/`;
  const outcome = await load(api, { model });
  expect(outcome.text).toBe('Danke.');
  const asked = server.requestsFor('/shards/model-').map(({ method, path }) => `${method} ${path.slice(-11, -12)}`);
  expect(asked.filter((it) => it.startsWith('GET')).length).toBe(3);
  expect(asked.filter((it) => it.startsWith('HEAD')).length).toBe(2);
  // All lengths are known before the weights arrive.
  const totals = downloads(outcome).filter(({ file, fileLoaded }) => file.startsWith('model-') && fileLoaded > 0);
  expect(new Set(totals.map(({ total }) => total)).size).toBe(1);
  expect(downloads(outcome).at(-1)).toMatchObject({ loaded: totals[0]!.total, total: totals[0]!.total });
  server.requests.length = 0;
  expect((await load(api, { model })).text).toBe('Danke.');
  expect(server.requestsFor('/shards/')).toEqual([]);
  // A missing file.
  server.rules = [{ path: '2-of-00003', status: 404 }];
  const { error } = await load(api, { model, cache: 'none' });
  expect(error).toMatchObject({ kind: 'network', message: expect.stringContaining('model-00002-of-00003.safetensors') });
  await rm(folder, { recursive: true });
});

test('files of PyTorch, of both forms and in several files', async ({ api, server }) => {
  const expected = await load(api, { model: `${server.url}/fixtures/marian_tied/` });
  const shards = ['00001', '00002'].map((number): [string, string] => [
    `pytorch_model-${number}-of-00002.bin`,
    `marian_zip_${number}`,
  ]);
  for (const [name, weights] of [
    ['zip', [['pytorch_model.bin', 'marian_zip']]],
    ['legacy', [['pytorch_model.bin', 'marian_legacy']]],
    ['shards', shards],
  ] as [string, [string, string][]][]) {
    const folder = await pickled(weights);
    server.mount(`/pickles-${name}/`, `${folder}/`);
    const model = `${server.url}/pickles-${name}/`;
    const outcome = await load(api, { model });
    expect(outcome.error, name).toBeUndefined();
    expect(outcome.text, name).toBe(expected.text);
    server.requests.length = 0;
    expect((await load(api, { model })).text).toBe(expected.text);
    expect(server.requestsFor('/pickles-')).toEqual([]);
    await rm(folder, { recursive: true });
  }
});

test('two tabs: one downloads', async ({ api, server, context }) => {
  const other = await secondPage(context, server);
  server.requests.length = 0;
  server.rules = [{ path: WEIGHTS, bytesPerSecond: 6_000_000 }];
  const model = `${server.url}/model/`;
  const outcomes = await Promise.all([load(api, { model }), load(other, { model })]);
  expect(outcomes.map(({ text }) => text)).toEqual(['Danke.', 'Danke.']);
  expect(server.requestsFor(WEIGHTS)).toHaveLength(1);
  // The waiting tab shows the progress of the other.
  const shown = outcomes.map((outcome) => downloads(outcome).filter(({ file }) => file === WEIGHTS).length);
  expect(Math.min(...shown)).toBeGreaterThan(1);
  const shares = outcomes.map((outcome) => downloads(outcome).map(({ loaded, total }) => loaded / total));
  for (const share of shares) expect(share).toEqual([...share].sort((a, b) => a - b));
  expect(Math.min(...shares.map((share) => share.filter((part) => part > 0.1 && part < 1).length))).toBeGreaterThan(0);
});

test('sums are checked', async ({ api, server }) => {
  const sum = (name: string) => createHash('sha256').update(readFileSync(MODEL_FOLDER + name)).digest('hex');
  const model = `${server.url}/model/`;
  const wrong = '0'.repeat(64);
  const bad = await load(api, { model, manifest: { [WEIGHTS]: wrong } });
  expect(bad.error?.kind).toBe('integrity');
  for (const part of [WEIGHTS, wrong, sum(WEIGHTS)]) expect(bad.error?.message).toContain(part);
  server.requests.length = 0;
  const good = await load(api, { model, manifest: { [WEIGHTS]: sum(WEIGHTS).toUpperCase() } });
  expect(good.text).toBe('Danke.');
  expect(server.requestsFor(WEIGHTS)[0]?.range).toBe('bytes=0-');
  // A stored file is checked, too, and fetched again if it differs.
  const kept = await load(api, { model, manifest: { 'vocab.json': wrong } });
  expect(kept.error?.kind).toBe('integrity');
  // A manifest at a URL.
  server.rules = [{ path: 'sums.json', body: JSON.stringify({ [WEIGHTS]: sum(WEIGHTS) }), type: 'application/json' }];
  expect((await load(api, { model, manifest: `${server.url}/sums.json` })).text).toBe('Danke.');
  const odd = await load(api, { model, manifest: { [WEIGHTS]: 'abc' } });
  expect(odd.error).toMatchObject({ kind: 'input', message: expect.stringContaining('64 hexadecimal digits') });
});

test('files that are missing', async ({ api, server }) => {
  const model = `${server.url}/model/`;
  for (const name of ['config.json', 'source.spm', WEIGHTS]) {
    server.rules = [{ path: name, status: 404 }];
    const { error } = await load(api, { model, cache: 'none' });
    expect(error?.kind).toBe('network');
    expect(error?.message).toContain(`${server.url}/model/${name} is not there (status 404)`);
  }
  server.rules = [{ path: '/model/', status: 403 }];
  expect((await load(api, { model })).error?.message).toContain('status 403 (no access)');
  expect(await api.evaluate(() => wordloom.storedModels())).toEqual([]);
  server.rules = [{ path: '/model/', body: '<!doctype html>' }];
  const page = await load(api, { model });
  expect(page.error).toMatchObject({ kind: 'network', message: expect.stringContaining('an HTML page instead') });
  server.rules = [{ path: '/model/generation_config.json', status: 404 }];
  expect((await load(api, { model })).text).toBe('Danke.');
});

test('files that are damaged', async ({ api, server }) => {
  const model = `${server.url}/model/`;
  server.rules = [{ path: 'config.json', body: '{ "model_type": ', type: 'application/json' }];
  const { error } = await load(api, { model, cache: 'none' });
  expect(error?.kind).toBe('input');
  expect(error?.message).toContain('config.json');
  server.rules = [{ path: WEIGHTS, body: 'not weights at all', type: 'application/octet-stream' }];
  expect((await load(api, { model, cache: 'none' })).error?.kind).toBe('input');
});

test('a damaged file leaves the store, and the next call fetches it again', async ({ api, server }) => {
  const model = `${server.url}/model/`;
  for (const [name, body] of [['config.json', '{ "a'], ['vocab.json', '{ "a'], ['source.spm', 'no pieces'], [WEIGHTS, 'not weights at all']] as const) {
    server.rules = [{ path: `/model/${name}`, body, type: 'application/octet-stream' }];
    const { error } = await load(api, { model });
    expect(error, name).toMatchObject({ kind: 'input', message: expect.stringContaining('The stored file was removed') });
    expect(error?.message).toContain(name);
    // the server has the whole file by now
    server.rules = [];
    server.requests.length = 0;
    expect((await load(api, { model })).text, name).toBe('Danke.');
    expect(server.requestsFor(`/model/${name}`)).toHaveLength(1);
    expect(server.requestsFor('/model/generation_config.json')).toEqual([]);
    server.requests.length = 0;
    expect((await load(api, { model })).text).toBe('Danke.');
    expect(server.requestsFor('/model/')).toEqual([]);
    await api.evaluate(async () => {
      for (const { id } of await wordloom.storedModels()) await wordloom.removeStoredModel(id);
    });
  }
});

test('a stored file that was damaged on disk is fetched again', async ({ api, server }) => {
  const model = `${server.url}/model/`;
  expect((await load(api, { model })).text).toBe('Danke.');
  await api.evaluate(async () => {
    const all = await (await navigator.storage.getDirectory()).getDirectoryHandle('wordloom');
    for await (const folder of all.values()) {
      const file = await (folder as FileSystemDirectoryHandle).getFileHandle('config.json');
      const { size } = await file.getFile();
      const stream = await file.createWritable();
      await stream.write('{'.repeat(size));
      await stream.close();
    }
  });
  server.requests.length = 0;
  expect((await load(api, { model })).error?.message).toContain('The stored file was removed: the next call downloads it again');
  expect(server.requestsFor('/model/')).toEqual([]);
  expect((await load(api, { model })).text).toBe('Danke.');
  expect(server.requestsFor('/model/').map(({ path }) => path)).toEqual(['/model/config.json']);
});

test('progress never goes back', async ({ api, server }) => {
  for (const model of [undefined, `${server.url}/model/`]) {
    for (const cache of ['preferred', 'preferred', 'none'] as const) {
      const shares = downloads(await load(api, { cache, ...(model === undefined ? {} : { model }) })).map(({ loaded, total }) => loaded / total);
      expect(shares.length).toBeGreaterThan(5);
      expect(shares).toEqual([...shares].sort((a, b) => a - b));
      expect(shares.at(-1)).toBe(1);
      expect(shares.filter((share) => share === 1).length).toBeLessThan(4);
    }
  }
  // the package knows the sizes of its own files
  const totals = downloads(await load(api, { cache: 'none' })).map(({ total }) => total);
  expect(new Set(totals).size).toBe(1);
});

test('an engine that cannot start', async ({ api, server }) => {
  const create = (options = {}, from = '') =>
    api.evaluate(
      async ([options, from]) => {
        const { Translator } = from === '' ? wordloom : ((await import(`${from}/dist/index.js`)) as typeof wordloom);
        const error = await Translator.create(options).catch((error) => error);
        return `${error.kind} ${error.code}: ${error.message}`;
      },
      [options, from] as const,
    );
  const notFetched = /^network no-engine: worker\.js could not be fetched\. .*JavaScript.*worker-src/;
  server.rules = [{ path: '/worker.js', status: 404 }];
  expect(await create()).toMatch(notFetched);
  server.rules = [{ path: '/worker.js', body: '<!doctype html>' }];
  expect(await create()).toMatch(notFetched);
  server.rules = [{ path: '/worker.js', drop: true }];
  expect(await create()).toMatch(notFetched);
  server.rules = [{ path: 'wordloom_web_bg.wasm', body: '<!doctype html>' }];
  expect(await create()).toMatch(/^network no-engine: http:\/\/.*\/wordloom_web_bg\.wasm answered with an HTML page\. Serve it/);
  server.rules = [{ path: 'wordloom_web_bg.wasm', drop: true }];
  expect(await create()).toMatch(/^network no-engine: .*wordloom_web_bg\.wasm could not be fetched\. .*connect-src/);
  server.rules = [];
  server.policy = "worker-src 'none'";
  await openHarness(api, server);
  expect(await create()).toMatch(notFetched);
  server.headers = { 'Access-Control-Allow-Origin': '*' };
  const elsewhere = server.url.replace('localhost', '127.0.0.1');
  expect(await create({}, elsewhere)).toMatch(/^unsupported undefined: .*worker\.js as a worker: serve the package from this page's own origin, or pass `worker: false`\.$/);
  expect(await create({ worker: false }, elsewhere)).toMatch(/^undefined undefined/);
});

test('a model as bytes, of a training, and as the namespace of a package', async ({ api }) => {
  const found = await api.evaluate(async (url) => {
    const { Trainer } = (await import(`${'/dist/train.js'}`)) as typeof Train;
    const wrong: string[] = [];
    for (const options of [{ model: { dModel: 10, heads: 4 } }, { recipe: { batch: 5000 } }, { recipe: { labelSmoothing: 2 } }, { recipe: { rate: 11 } }]) {
      await Trainer.create(options).catch((error) => wrong.push(`${error.kind}: ${error.message}`));
    }
    const trainer = await Trainer.create({ model: { layers: 1, dModel: 16, heads: 2 }, task: { rule: 'copy', symbols: 4 } });
    const before = trainer.info.step;
    await trainer.train({ steps: 3 });
    // steps that still run when a call is aborted count, too
    const stop = new AbortController();
    await trainer.train({ steps: 10_000, signal: stop.signal, onProgress: () => stop.abort() }).catch(() => {});
    const resumed = await Trainer.create({ resume: await trainer.save({ state: true }) });
    const steps = [trainer.info.step, resumed.info.step];
    resumed.destroy();
    const model = await trainer.save();
    trainer.destroy();
    const translator = await wordloom.Translator.create({ device: 'cpu', model });
    const { sentences } = await translator.translate('abcdabcd');
    translator.destroy();
    const names = ['config.json', 'generation_config.json', 'tokenizer_config.json', 'vocab.json', 'source.spm', 'target.spm', 'model.safetensors'];
    const urls = Object.fromEntries(names.map((name) => [name, url + name]));
    const namespace = { default: { name: 'a package', urls, manifest: {} } };
    const of = await wordloom.Translator.create({ device: 'cpu', model: namespace });
    const { text } = await of.translate('Thank you.');
    of.destroy();
    return { wrong, before, steps, sentences: sentences.length, text, label: of.info.model.label };
  }, '/model/'); // without an origin, as Next.js makes addresses
  expect(found.steps[0]).toBe(found.steps[1]);
  expect(found.steps[0]).toBeGreaterThan(3);
  expect(found).toMatchObject({ before: 0, sentences: 1, text: 'Danke.', label: 'a package' });
  // the names are those that the caller wrote
  expect(found.wrong).toEqual([
    expect.stringMatching(/^input: model\.dModel is 10; it must be even, and a multiple of the 4 heads/),
    expect.stringMatching(/^input: recipe\.batch is 5000; it must be 1 to 1024/),
    expect.stringMatching(/^input: recipe\.labelSmoothing is 2/),
    expect.stringMatching(/^input: recipe\.rate is 11/),
  ]);
});

test('a damaged document names its file', async ({ api }) => {
  const message = await api.evaluate(async () => {
    const { translateDocument } = (await import(`${'/dist/documents.js'}`)) as typeof Documents;
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const refuse = (options?: object) =>
      translateDocument(translator, { name: 'a letter.docx', data: new Uint8Array(9) }, options).catch((error) => `${error.kind}: ${error.message}`);
    const found = [await refuse(), await refuse({ onprogress() {} }), await refuse(new AbortController().signal)];
    translator.destroy();
    return found;
  });
  expect(message[0]).toMatch(/^input: .*a letter\.docx/);
  expect(message[1]).toMatch(/^input: translateDocument has no "onprogress"; there are beams, (?!.*(nBest|attention)).*columns, via, onProgress\.$/);
  expect(message[2]).toMatch(/^input: The options must be an object, and are an AbortSignal/);
});

test('no network', async ({ api, server }) => {
  server.rules = [{ path: '/model/', drop: true }];
  const { error } = await load(api, { model: `${server.url}/model/` });
  expect(error?.message).toMatch(/\/model\/config.json could not be reached .*Check the address, the connection/);
  expect(error?.kind).toBe('network');
});

test('a full quota', async ({ api, server, context }) => {
  const session = await context.newCDPSession(api);
  const origin = server.url;
  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 4_000_000 });
  const model = `${server.url}/model/`;
  const required = await load(api, { model, cache: 'required' });
  expect(required.error?.kind).toBe('memory');
  expect(required.error?.message).toMatch(/is used up, after \d\.\d MB of 18\.8 MB of model\.safetensors\. Free space/);
  server.requests.length = 0;
  const preferred = await load(api, { model });
  expect(preferred.text).toBe('Danke.');
  expect(warnings(preferred)).toEqual([expect.stringContaining('used up')]);
  expect(server.requestsFor(WEIGHTS).length).toBe(1);
});

/** As a person does; the page's only `input` has the files then. */
async function chooseFolder(page: Page, folder: string): Promise<void> {
  await page.evaluate(() => {
    document.querySelector('input')?.remove();
    const input = document.createElement('input');
    input.type = 'file';
    input.webkitdirectory = true;
    document.body.append(input);
  });
  await page.setInputFiles('input', folder.replace(/\/$/, ''));
}

test('a chosen folder', async ({ api, server }) => {
  await chooseFolder(api, MODEL_FOLDER);
  const outcome = await api.evaluate(async () => {
    const { files } = document.querySelector('input')!;
    const translator = await wordloom.Translator.create({ device: 'cpu', model: files! });
    const { text } = await translator.translate('Thank you.');
    translator.destroy();
    const some = [...files!].filter(({ name }) => name !== 'vocab.json' && name !== 'config.json');
    const messages: string[] = [];
    for (const model of [some, [], [...files!].filter(({ name }) => name !== 'vocab.json')]) {
      const error = await wordloom.Translator.create({ device: 'cpu', model }).catch((error) => error);
      messages.push(`${error.kind}: ${error.message}`);
    }
    return { text, label: translator.info.model.label, messages };
  });
  expect(outcome.text).toBe('Danke.');
  expect(outcome.label).toBe('tatoeba-en-de');
  expect(outcome.messages[0]).toMatch(/^input: .*config\.json/);
  expect(outcome.messages[1]).toMatch(/^input: .*config\.json/);
  expect(outcome.messages[2]).toMatch(/^input: .*vocab\.json/);
  expect(server.requestsFor('/model/')).toEqual([]);
});

test("a chosen folder of Firefox's, compressed or not", async ({ api }, info) => {
  const translate = () =>
    api.evaluate(async (source) => {
      const { files } = document.querySelector('input')!;
      const translator = await wordloom.Translator.create({ device: 'cpu', model: files! });
      const { text } = await translator.translate(source);
      translator.destroy();
      return text;
    }, FIREFOX_CASE.source);
  await chooseFolder(api, FIREFOX_FOLDER);
  expect(await translate()).toBe(FIREFOX_CASE.text);

  const packed = info.outputPath('en-de');
  const names = packFirefoxModel(packed);
  await chooseFolder(api, packed);
  expect(await translate()).toBe(FIREFOX_CASE.text);

  const shortlist = `${packed}/${names.find((name) => name.startsWith('lex'))}`;
  writeFileSync(shortlist, readFileSync(shortlist).subarray(0, 200));
  await chooseFolder(api, packed);
  await expect(translate()).rejects.toThrow(/lex.*\.gz cannot be decompressed \(.*\); download it again/);
});

test("a folder of Firefox's in Node, compressed or not", async ({}, info) => {
  const node = await import(new URL('../dist/node.js', import.meta.url).href) as typeof Node;
  const packed = info.outputPath('en-de');
  packFirefoxModel(packed);
  for (const folder of [FIREFOX_FOLDER, packed]) {
    const translator = await node.Translator.create({ device: 'cpu', model: pathToFileURL(folder) });
    expect((await translator.translate(FIREFOX_CASE.source)).text).toBe(FIREFOX_CASE.text);
    translator.destroy();
  }
});

test('the handle of a directory', async ({ api, server }) => {
  const text = await api.evaluate(async ([url, names]) => {
    const root = await navigator.storage.getDirectory();
    const handle = await root.getDirectoryHandle('a model', { create: true });
    for (const name of names as string[]) {
      const file = await (await handle.getFileHandle(name, { create: true })).createWritable();
      await (await fetch(url + name)).body!.pipeTo(file);
    }
    const translator = await wordloom.Translator.create({ device: 'cpu', model: handle });
    const { text } = await translator.translate('Thank you.');
    translator.destroy();
    return text;
  }, [`${server.url}/model/`, FILES] as const);
  expect(text).toBe('Danke.');
});

test('create can be aborted at any time', { tag: '@speed' }, async ({ api, server }) => {
  server.rules = [{ path: WEIGHTS, bytesPerSecond: 4_000_000 }];
  const model = `${server.url}/model/`;
  const outcome = await api.evaluate(async (model) => {
    const stop = new AbortController();
    const reason = new Error('enough');
    let begun = 0;
    const error = await wordloom.Translator.create({
      model,
      signal: stop.signal,
      onProgress(event) {
        if (event.stage !== 'download' || event.file !== 'model.safetensors' || event.fileLoaded === 0) return;
        begun ||= performance.now();
        stop.abort(reason);
      },
    }).catch((error) => error);
    const early = await wordloom.Translator.create({ model, signal: AbortSignal.abort() }).catch((error) => error);
    return { kind: error.kind, name: error.name, same: error.cause === reason, after: performance.now() - begun, early: early.kind };
  }, model);
  expect(outcome).toMatchObject({ kind: 'aborted', name: 'AbortError', same: true, early: 'aborted' });
  expectWithin(outcome.after, 500);
  // The received bytes are stored.
  server.rules = [];
  server.requests.length = 0;
  expect((await load(api, { model })).text).toBe('Danke.');
  expect(Number(/\d+/.exec(server.requestsFor(WEIGHTS)[0]!.range!))).toBeGreaterThan(0);
});

test('options that do not exist', async ({ api }) => {
  const create = (options: object) =>
    api.evaluate(async (options) => {
      const error = await wordloom.Translator.create(options).catch((error) => error);
      return `${error.kind}: ${error.message}`;
    }, options);
  expect(await create({ modle: 'x' })).toMatch(/^input: There is no option "modle"/);
  expect(await create({ device: 'npu' })).toMatch(/^input: device is "npu"; it can be auto, gpu, cpu/);
  expect(await create({ cache: 'maybe' })).toMatch(/^input: cache is "maybe"/);
  expect(await create({ model: 'https://[' })).toMatch(/^input: "https:\/\/\[" is not a URL/);
  expect(await create({ model: 7 })).toMatch(/^input: model must be/);
  expect(await create({ model: 'a/b', endpoint: 'huggingface.co', token: 'hf_x' })).toMatch(/^input: endpoint is "huggingface\.co"; it must begin with https:/);
  expect(await create({ model: { name: 'x', urls: undefined, manifest: {} } })).toMatch(/^input: model must be|^input: model\.urls must be an object of texts/);
  expect(await create({ model: { 'config.json': 5 } })).toMatch(/^input: model holds config\.json, which must be a Uint8Array/);
  const missing = await api.evaluate(() => core.Translator.create({} as never).catch((error) => error.message));
  expect(missing).toContain('There is no model');
});
