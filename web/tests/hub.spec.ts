/** Models by name, from a small hub of the tests: what is fetched and kept, and every refusal. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from '@playwright/test';
import { hubName } from '../ts/hub-name.ts';
import type { CreateOptions, ProgressEvent } from '../ts/types.ts';
import { BUNDLED_MODEL, expect, FIXTURES_FOLDER, openHarness, test as base } from './support/harness.ts';
import { MockHub, TOKEN } from './support/hub.ts';

const SMALL = `${FIXTURES_FOLDER}marian_tied/`;
const NAME = 'Wordloom-Test/opus-mt-en-de';
const TINY = 'Wordloom-Test/opus-mt-en-ko';
const NOT_NEEDED = ['tokenizer.json', 'pytorch_model.bin', 'tf_model.h5', 'rust_model.ot'];
const NEEDED = ['config.json', 'generation_config.json', 'tokenizer_config.json', 'vocab.json', 'source.spm', 'target.spm', 'model.safetensors'];

const test = base.extend<{ hub: MockHub }>({
  hub: async ({ api }, use) => {
    void api;
    const hub = await MockHub.start();
    hub.publish(NAME, BUNDLED_MODEL, { also: NOT_NEEDED });
    hub.publish(TINY, SMALL);
    await use(hub);
    await hub.stop();
  },
});

interface Outcome {
  text?: string;
  error?: { kind: string; message: string };
  events: ProgressEvent[];
}

function load(page: Page, hub: MockHub, model: string, options: Partial<CreateOptions> = {}): Promise<Outcome> {
  return page.evaluate(async (options) => {
    const events: ProgressEvent[] = [];
    try {
      const onProgress = (event: ProgressEvent) => events.push(event);
      const translator = await wordloom.Translator.create({ device: 'cpu', ...options, onProgress });
      const { text } = await translator.translate('Thank you.', { beams: 1, maxLength: 8 });
      translator.destroy();
      return { text, events };
    } catch (error) {
      if (!(error instanceof wordloom.WordloomError)) throw error;
      return { error: { kind: error.kind, message: error.message }, events };
    }
  }, { model, endpoint: hub.url, ...options } as CreateOptions) as Promise<Outcome>;
}

const downloads = ({ events }: Outcome) => events.filter((event) => event.stage === 'download');
const warnings = ({ events }: Outcome) => events.flatMap((event) => (event.stage === 'warning' ? [event.message] : []));
const stored = (page: Page) => page.evaluate(() => wordloom.storedModels());

test('a name is resolved, fetched once, checked, and opened without the network afterwards', async ({ api, hub, context, server }) => {
  const first = await load(api, hub, NAME);
  expect(first.error).toBeUndefined();
  expect(first.text).toBe('Danke.');
  expect(warnings(first)).toEqual([]);
  const files = hub.requests.filter(({ path }) => path.includes('/resolve/')).map(({ path }) => path.split('/').at(-1));
  expect(files.sort()).toEqual([...NEEDED].sort());
  expect(hub.requests.filter(({ path }) => path.startsWith('/api/'))).toHaveLength(1);
  const total = NEEDED.reduce((sum, name) => sum + statSync(BUNDLED_MODEL + name).size, 0);
  expect(downloads(first).at(-1)).toMatchObject({ loaded: total, total, fromCache: false });

  const [model, ...others] = await stored(api);
  expect(others).toEqual([]);
  const pair = ['eng', 'deu'];
  expect(model).toMatchObject({ model: NAME, endpoint: hub.url, commit: '1'.repeat(40), complete: true, bytes: total, family: 'marian', pair });

  hub.reset();
  hub.disappear();
  await api.close();
  const page = await context.newPage();
  await openHarness(page, server);
  const second = await load(page, hub, NAME);
  expect(second.text).toBe('Danke.');
  expect(downloads(second).every(({ fromCache }) => fromCache)).toBe(true);
  expect(hub.requests).toEqual([]);
  expect((await load(page, hub, `${NAME}@${'1'.repeat(40)}`)).text).toBe('Danke.');
  // Asked for news, the page says that there is no network, and goes on.
  const third = await load(page, hub, NAME, { update: true });
  expect(third.text).toBe('Danke.');
  expect(warnings(third)).toEqual([expect.stringContaining('is used as it is')]);
  // Another name: which models need no network.
  const { error } = await load(page, hub, TINY);
  expect(error).toMatchObject({ kind: 'network', message: expect.stringContaining(`Offline: these models are here: ${NAME}.`) });

  await page.evaluate((id) => wordloom.removeStoredModel(id), model!.id);
  expect(await stored(page)).toEqual([]);
});

test('a newer commit is noticed only when asked, and replaces the older one', async ({ api, hub }) => {
  expect((await load(api, hub, TINY)).error).toBeUndefined();
  hub.publish(TINY, SMALL, { commit: '2' });
  hub.reset();
  expect((await load(api, hub, TINY)).error).toBeUndefined();
  expect(hub.requests).toEqual([]);
  expect((await load(api, hub, TINY, { update: true })).error).toBeUndefined();
  expect(hub.requests.length).toBeGreaterThan(5);
  await expect.poll(async () => (await stored(api)).map(({ commit }) => commit)).toEqual(['2'.repeat(40)]);
  // No news: one question.
  hub.reset();
  expect((await load(api, hub, TINY, { update: true })).error).toBeUndefined();
  expect(hub.requests).toHaveLength(1);
  // Another branch of the same commit is the same model.
  hub.branch(TINY, 'refs/pr/1');
  hub.reset();
  expect((await load(api, hub, `${TINY}@refs/pr/1`)).error).toBeUndefined();
  expect(hub.requests).toHaveLength(1);
  expect(await stored(api)).toHaveLength(1);
});

test('names, revisions, tokens: each refusal says what to do', async ({ api, hub }) => {
  const unknown = await load(api, hub, 'Wordloom-Test/opus-mt-xx-yy');
  expect(unknown.error?.kind).toBe('input');
  expect(unknown.error?.message).toContain('There is no model Wordloom-Test/opus-mt-xx-yy at localhost');
  expect(unknown.error?.message).toContain(`Near: ${NAME}, ${TINY}.`);
  const revision = await load(api, hub, `${TINY}@v9`);
  expect(revision.error).toMatchObject({ kind: 'input', message: expect.stringContaining('has no revision "v9"') });

  hub.publish(TINY, SMALL, { gated: 'auto' });
  hub.reset();
  const without = await load(api, hub, TINY);
  expect(without.error).toMatchObject({ kind: 'access', message: expect.stringContaining(`accept its terms at ${hub.url}/${TINY}`) });
  expect(without.error?.message).toContain('`token`');
  expect(hub.requests.filter(({ path }) => path.includes('/resolve/'))).toEqual([]);
  const wrong = await load(api, hub, TINY, { token: 'hf_wrong' });
  expect(wrong.error).toMatchObject({ kind: 'access', message: expect.stringContaining('with the account of this token') });
  hub.reset();
  expect((await load(api, hub, TINY, { token: TOKEN })).error).toBeUndefined();
  expect(new Set(hub.requests.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${TOKEN}`]));
  // The token stays at the hub, and is not stored.
  expect(hub.cdn.requests.length).toBeGreaterThan(0);
  expect(hub.cdn.requests.every(({ authorization }) => authorization === undefined)).toBe(true);
  expect(JSON.stringify(await stored(api))).not.toContain(TOKEN);
});

test('a model that cannot work is refused before its weights', async ({ api, hub }) => {
  const folder = mkdtempSync(join(tmpdir(), 'wordloom-hub-'));
  try {
    cpSync(SMALL, folder, { recursive: true });
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ model_type: 'bloom' }));
    hub.publish('Wordloom-Test/bloom', folder);
    const family = await load(api, hub, 'Wordloom-Test/bloom');
    expect(family.error).toMatchObject({ kind: 'unsupported', message: expect.stringContaining('family "bloom"') });
    for (const name of ['marian', 'm2m_100', 't5']) expect(family.error?.message).toContain(name);
    hub.publish('Wordloom-Test/mute', SMALL, { without: ['source.spm', 'target.spm', 'vocab.json'], also: ['tokenizer.json'] });
    const mute = await load(api, hub, 'Wordloom-Test/mute');
    expect(mute.error).toMatchObject({ kind: 'unsupported', message: expect.stringContaining('has no source.spm, target.spm, vocab.json') });
    expect(mute.error?.message).toContain('tokenizer.json');
    hub.publish('Wordloom-Test/empty', SMALL, { without: ['model.safetensors'] });
    const empty = await load(api, hub, 'Wordloom-Test/empty');
    for (const name of ['model.safetensors', 'pytorch_model.bin']) expect(empty.error?.message).toContain(name);
    // Without safetensors, PyTorch's file is requested, and nothing of other programs. (The tests' hub does not have it.)
    hub.publish('Wordloom-Test/old', SMALL, { without: ['model.safetensors'], also: NOT_NEEDED });
    expect((await load(api, hub, 'Wordloom-Test/old')).error?.kind).toBe('network');
    expect(hub.requests.filter(({ path }) => /\.(h5|ot|bin)$/.test(path)).map(({ path }) => path.split('/').at(-1))).toEqual(['pytorch_model.bin']);
    expect(hub.requests.filter(({ path }) => path.endsWith('.safetensors'))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('wrong sums, of large files and of small ones', async ({ api, hub }) => {
  hub.falsify(TINY, 'model.safetensors');
  const large = await load(api, hub, TINY);
  expect(large.error).toMatchObject({ kind: 'integrity', message: expect.stringContaining('expected ffff') });
  expect(large.error?.message).toContain('is not the file that the hub names: its SHA-256');
  expect(large.error?.message).not.toContain('manifest');
  hub.publish(TINY, SMALL);
  hub.falsify(TINY, 'vocab.json');
  const small = await load(api, hub, TINY);
  expect(small.error).toMatchObject({ kind: 'integrity', message: expect.stringContaining('vocab.json') });
  expect(small.error?.message).toContain('git hash');
  expect((await stored(api)).filter(({ complete }) => complete)).toEqual([]);
  hub.publish(TINY, SMALL);
  expect((await load(api, hub, TINY)).error).toBeUndefined();
});

test('too many requests, cut connections, and servers that are down', async ({ api, hub }) => {
  hub.rules = [{ path: '/api/', status: 429, headers: { 'Retry-After': '1' }, times: 1 }];
  hub.cdn.rules = [{ path: 'model.safetensors', cutAfter: 200_000, times: 1 }];
  expect((await load(api, hub, TINY)).error).toBeUndefined();
  expect(hub.requests.filter(({ path }) => path.startsWith('/api/'))).toHaveLength(2);
  const ranges = hub.cdn.requestsFor('model.safetensors').map(({ range }) => range);
  expect(ranges).toHaveLength(2);
  expect(Number(/\d+/.exec(ranges[1]!))).toBeGreaterThan(0);

  hub.rules = [{ path: '/api/', status: 429, headers: { 'Retry-After': '600', 'Access-Control-Expose-Headers': 'Retry-After' } }];
  const much = await load(api, hub, NAME);
  expect(much.error).toMatchObject({ kind: 'network', message: expect.stringContaining('status 429: too many requests. Try again in 600 s') });
  hub.rules = [{ path: '/api/', status: 200, body: '<html>' }];
  expect((await load(api, hub, NAME)).error?.message).toContain('did not answer with JSON');
});

test('the sizes of all files are known from the start', async ({ api, hub }) => {
  const { events } = await load(api, hub, NAME);
  const all = events.filter((event) => event.stage === 'download');
  const bytes = NEEDED.reduce((sum, file) => sum + statSync(BUNDLED_MODEL + file).size, 0);
  expect(new Set(all.map(({ total }) => total))).toEqual(new Set([bytes]));
  expect(all.at(-1)?.loaded).toBe(bytes);
});

test('a name is told from an address', async ({ api, server, hub }) => {
  for (const name of ['a/b', 'Helsinki-NLP/opus-mt-en-fr', 'google/flan-t5-small', 'x_y/z.1']) expect(hubName(name)?.name).toBe(name);
  expect(hubName('a/b@refs/pr/1')).toEqual({ name: 'a/b', revision: 'refs/pr/1' });
  for (const url of ['a', 'a/', 'a/b/', './a/b', '/a/b', '../a/b', 'a/b/c', 'a--b/c', 'a/b@', 'a b/c', 'a/b?c', 'https://a/b', 'a/b@../c', '-a/b', '.a/b', 'a/..']) {
    expect(hubName(url), url).toBeUndefined();
  }
  await load(api, hub, './fixtures/marian_tied');
  expect(server.requestsFor('/fixtures/marian_tied/config.json')).toHaveLength(1);
  await load(api, hub, 'fixtures/marian_tied/');
  expect(hub.requests).toEqual([]);
  const odd = await load(api, hub, TINY, { endpoint: 'ftp://localhost' });
  expect(odd.error?.message).toContain('must begin with https://');
  expect((await load(api, hub, TINY, { token: 'a b' })).error?.message).toContain('without spaces');
  const about = await api.evaluate(
    ([name, endpoint]) => wordloom.describeHubModel(name!, { endpoint: endpoint! }),
    [NAME, hub.url],
  );
  const bytes = NEEDED.reduce((sum, file) => sum + statSync(BUNDLED_MODEL + file).size, 0);
  expect(about).toEqual({ model: NAME, commit: '1'.repeat(40), bytes, family: 'marian', licence: 'cc-by-4.0', languages: ['en', 'de'] });
});

test('names in Node: from the hub, and from its cache on disk', async ({ hub }) => {
  const entry = new URL('../dist/node.js', import.meta.url).href;
  const code = `
    const { Translator } = await import(${JSON.stringify(entry)});
    const translator = await Translator.create({ model: ${JSON.stringify(NAME)} });
    console.log((await translator.translate('Thank you.', { beams: 1 })).text);
    translator.destroy();`;
  const home = mkdtempSync(join(tmpdir(), 'wordloom-hf-'));
  const env = { ...process.env, HF_ENDPOINT: hub.url, HF_HOME: home, HF_TOKEN: TOKEN };
  writeFileSync(join(home, 'by-name.mjs'), code);
  const run = () => promisify(execFile)(process.execPath, [join(home, 'by-name.mjs')], { env });
  try {
    expect((await run()).stdout).toBe('Danke.\n');
    expect(hub.requests.at(-1)?.authorization).toBe(`Bearer ${TOKEN}`);
    hub.reset();
    const cached = join(home, 'hub', `models--${NAME.replace('/', '--')}`);
    const snapshot = join(cached, 'snapshots', '1'.repeat(40));
    for (const file of readdirSync(BUNDLED_MODEL)) cpSync(BUNDLED_MODEL + file, join(snapshot, file));
    mkdirSync(join(cached, 'refs'));
    writeFileSync(join(cached, 'refs/main'), '1'.repeat(40));
    expect((await run()).stdout).toBe('Danke.\n');
    expect(hub.requests).toEqual([]);
    // Asked for news: there are none, and then there is no network.
    writeFileSync(join(home, 'by-name.mjs'), code.replace('{ model:', '{ update: true, onProgress: (event) => event.stage === "warning" && console.log(event.message), model:'));
    expect((await run()).stdout).toBe('Danke.\n');
    expect(hub.requests.map(({ path }) => path)).toEqual([expect.stringContaining('/api/models/')]);
    hub.disappear();
    expect((await run()).stdout).toMatch(/is used as it is\.\nDanke\.\n$/);
    writeFileSync(join(home, 'by-name.mjs'), code.replace(NAME, TINY));
    const missing = await run().catch((error: { stderr: string }) => error.stderr);
    expect(missing).toContain(`Offline: these models are here: ${NAME}.`);
  } finally {
    rmSync(home, { recursive: true });
  }
});
