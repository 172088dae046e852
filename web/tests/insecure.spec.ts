/** Package and page at http://, not at localhost: the browser withholds private files, locks, caches, clipboard and WebGPU. */
import { fileURLToPath } from 'node:url';
import { expect, test as base } from '@playwright/test';
import type * as Documents from '../ts/documents.ts';
import type * as Train from '../ts/train.ts';
import type { ProgressEvent } from '../ts/types.ts';
import { chromium } from './support/chromium.ts';
import { POLICY, settled, SITE, watch } from './support/page.ts';
import { TestServer } from './support/server.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const { launchOptions } = chromium;

const test = base.extend<object, { server: TestServer; site: TestServer }>({
  server: [
    async ({}, use) => {
      const server = await TestServer.start({ '/': path('support/harness/'), '/dist/': path('../dist/') });
      await use(server);
      await server.stop();
    },
    { scope: 'worker' },
  ],
  site: [
    async ({}, use) => {
      const server = await TestServer.start({ '/': SITE });
      server.policy = POLICY;
      await use(server);
      await server.stop();
    },
    { scope: 'worker' },
  ],
});

test.use({ launchOptions: { ...launchOptions, args: [...launchOptions.args, '--host-resolver-rules=MAP plain.test 127.0.0.1'] } });

const plain = ({ url }: TestServer) => `${url.replace('localhost', 'plain.test')}/`;

test('the package translates, and says that it stores nothing', async ({ page, server }) => {
  await page.goto(plain(server));
  await page.waitForFunction(() => globalThis.ready);
  expect(await page.evaluate(() => [isSecureContext, 'storage' in navigator, 'locks' in navigator])).toEqual([false, false, false]);
  const create = (options: object) =>
    page.evaluate(async (options) => {
      const events: ProgressEvent[] = [];
      try {
        const translator = await wordloom.Translator.create({ ...options, onProgress: (event) => events.push(event) });
        const { text } = await translator.translate('Thank you.');
        translator.destroy();
        const warnings = events.filter((event) => event.stage === 'warning').map(({ message }) => message);
        return [text, translator.info.device.kind, ...warnings];
      } catch (error) {
        const { kind, message } = error as { kind?: string; message: string };
        return [kind, message];
      }
    }, options);
  const warning = expect.stringContaining('This browser keeps no files here');
  expect(await create({})).toEqual(['Danke.', 'cpu', warning]);
  expect(await create({ worker: false })).toEqual(['Danke.', 'cpu', warning]);
  expect(await create({ cache: 'none' })).toEqual(['Danke.', 'cpu']);
  expect(await create({ cache: 'required' })).toEqual(['memory', expect.stringContaining('a page without https')]);
  expect((await create({ device: 'gpu' }))[0]).toBe('unsupported');
  const stored = await page.evaluate(async () => {
    await wordloom.removeStoredModel('x');
    return [await wordloom.storedModels(), await wordloom.Translator.availability()];
  });
  expect(stored).toEqual([[], 'downloadable']);
});

test('documents and training', async ({ page, server }) => {
  await page.goto(plain(server));
  await page.waitForFunction(() => globalThis.ready);
  const found = await page.evaluate(async () => {
    const of = (name: string) => import(`/dist/${name}.js`);
    const { translateDocument } = (await of('documents')) as typeof Documents;
    const { Trainer } = (await of('train')) as typeof Train;
    const translator = await wordloom.Translator.create();
    const document = await translateDocument(translator, { name: 'a.md', data: new TextEncoder().encode('Thank you.') });
    translator.destroy();
    const trainer = await Trainer.create({ model: { layers: 1, dModel: 16, heads: 2 } });
    await trainer.train({ steps: 2 });
    const files = Object.keys(await trainer.save());
    trainer.destroy();
    return [await document.text(), files.includes('config.json')];
  });
  expect(found).toEqual(['Danke.', true]);
});

test('the page translates', async ({ page, site }) => {
  const complaints = watch(page);
  await page.goto(plain(site));
  await page.getByRole('textbox', { name: /^(English|Your text)$/ }).fill('Thank you.');
  await settled(page);
  await expect(page.locator('.pane--target .sentence').first()).toHaveText('Danke.');
  await expect(page.getByText('This browser keeps no files here')).toBeVisible();
  expect(complaints).toEqual([]);
});
