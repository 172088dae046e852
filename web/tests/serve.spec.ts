/** `wordloom serve`: the page works, also after the server has stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';
import { parseModelList } from '../ts/model-list.ts';
import { FIREFOX_CASE, FIREFOX_FOLDER } from './support/firefox.ts';
import { watch } from './support/page.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const SUFFIX = process.platform === 'win32' ? '.exe' : '';
/** The binary that cargo's tests have built. */
const BINARY = process.env['WORDLOOM'] ?? path(`../../target/debug/wordloom${SUFFIX}`);

let server: ChildProcess;
let url: string;

test.beforeAll(async () => {
  expect(existsSync(BINARY), `${BINARY} is missing: run \`cargo build\``).toBe(true);
  // The newly built page, because the binary may contain an older one.
  const models = [path('../../tests/data/models/marian_tied'), FIREFOX_FOLDER].flatMap((folder) => ['--models', folder]);
  server = spawn(BINARY, ['serve', '--port', '0', '--page', path('../../cli/site'), ...models], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: server.stdout! }), 'line')) as [string];
  expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
  url = line;
});

test.afterAll(() => {
  server.kill();
});

test('its list of models is read without a complaint', async () => {
  const address = new URL('models.json', url);
  const { models, skipped } = parseModelList(new Uint8Array(await (await fetch(address)).arrayBuffer()), address);
  expect(skipped).toEqual([]);
  const listed = models.map(({ name, url }) => [name, url]);
  expect(listed[0]).toEqual(['tatoeba-en-de', `${url}model/`]);
  expect(listed).toContainEqual(['tatoeba-de-en', `${url}models/tatoeba-de-en/`]);
  expect(listed.slice(-2)).toEqual([
    ['marian_tied', `${url}models/marian_tied/`],
    ['joint', `${url}models/joint/`],
  ]);
  for (const model of models) {
    for (const name of Object.keys(model.manifest)) {
      expect((await fetch(model.url + name, { method: 'HEAD' })).status, name).toBe(200);
    }
  }
});

test('a Firefox model that the server has is a click away', async ({ page }) => {
  const complaints = watch(page);
  const output = page.getByTestId('output');
  await page.goto(url);
  await page.getByRole('textbox', { name: 'English' }).fill(FIREFOX_CASE.source);
  await page.getByRole('button', { name: /^To: / }).click();
  const away = page.getByRole('dialog').getByRole('region', { name: 'To download' });
  await expect(away.getByRole('button', { name: /joint/ })).toHaveText(/^GermanDeutschjoint · 0\.5 MB/);
  await away.getByRole('button', { name: /joint/ }).click();
  await expect(output).toHaveText(FIREFOX_CASE.text);
  // stored: it needs no request the second time
  await page.route('**/models/joint/**', (route) => route.abort());
  await page.reload();
  await expect(output).toHaveText(FIREFOX_CASE.text);
  expect(complaints).toEqual([]);
});

test('the page translates with its model, and without the server after the first visit', async ({ page }) => {
  const complaints = watch(page);
  const source = page.getByRole('textbox', { name: 'English' });
  const output = page.getByTestId('output');
  await page.goto(url);
  await source.fill('Where is the train station?');
  await expect(output).toHaveText('Wo ist der Bahnhof?');
  await page.evaluate(async () => navigator.serviceWorker.ready);
  await expect.poll(() => page.evaluate(() => navigator.serviceWorker.controller?.state)).toBe('activated');
  expect(complaints).toEqual([]);

  const gone = once(server, 'exit');
  server.kill('SIGINT');
  expect((await gone)[0]).toBe(0);
  await expect(fetch(url)).rejects.toThrow();

  await page.reload();
  await source.fill('I have lost my passport.');
  await expect(output).toHaveText('Ich habe meinen Pass verloren.');
});
