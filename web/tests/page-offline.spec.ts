/** The second visit: without a network, and with a new version of the page. */
import type { Page } from '@playwright/test';
import { POLICY, SITE, expect, kept, test, type Wordloom } from './support/page.ts';
import { TestServer } from './support/server.ts';

const STATION = 'Where is the train station?';
const BAHNHOF = 'Wo ist der Bahnhof?';

test('the second visit needs no network', async ({ page, wordloom }) => {
  const own = await TestServer.start({ '/': SITE });
  own.policy = POLICY;
  await page.goto(`${own.url}/`);
  await wordloom.translate(STATION);
  await kept(page);
  await own.stop();
  await page.reload();
  await expect(wordloom.output).toHaveText(BAHNHOF);
  expect(await wordloom.translate('I have lost my passport.')).toBe('Ich habe meinen Pass verloren.');
});

test('the other direction is downloaded when it is chosen, and then needs no network', async ({ page, wordloom }) => {
  const own = await TestServer.start({ '/': SITE });
  own.policy = POLICY;
  const from = page.getByRole('button', { name: /^From: / });
  const swap = page.getByRole('button', { name: /^Swap/ });
  const german = page.getByRole('textbox', { name: 'German' });
  await page.goto(`${own.url}/`);
  await wordloom.translate(STATION);
  await kept(page);
  expect(own.requestsFor('/models/')).toEqual([]);
  await page.getByRole('button', { name: /^To: / }).click();
  await expect(page.getByRole('region', { name: 'On this device' }).getByRole('button')).toHaveText([/^German/]);
  await page.keyboard.press('Escape');
  await from.click();
  const row = page.getByRole('region', { name: 'To download' }).getByRole('button', { name: /^German/ });
  await expect(row).toContainText('tatoeba-de-en · 10.8 MB · CC-BY-2.0-FR');
  await shots(page, wordloom, 'picker-german-english');
  await row.click();
  await expect(from).toHaveAccessibleName('From: German');
  await german.fill(BAHNHOF);
  await expect(wordloom.output).toHaveText('Where is the railway station?');
  await shots(page, wordloom, 'german-english');

  await own.stop();
  await page.reload();
  await expect(wordloom.output).toHaveText('Where is the railway station?');
  await german.fill('Ich hätte gern eine Tasse Kaffee.');
  await expect(wordloom.output).toHaveText("I'd like a cup of coffee.");
  await expect(swap).toHaveAccessibleName('Swap: English → German');
  await swap.click();
  await expect(from).toHaveAccessibleName('From: English');
  expect(await wordloom.translate(STATION)).toBe(BAHNHOF);
  await swap.click();
  await expect(german).toHaveValue(BAHNHOF);
  await expect(wordloom.output).toHaveText('Where is the railway station?');
});

test('French is there in both directions', async ({ page, wordloom }) => {
  await wordloom.open();
  await page.getByRole('button', { name: /^To: / }).click();
  await page.getByRole('region', { name: 'To download' }).getByRole('button', { name: /^French/ }).click();
  await expect(page.getByRole('button', { name: /^To: / })).toHaveAccessibleName('To: French');
  // the German translation stands until the other model is there
  await wordloom.source.fill(STATION);
  await expect(wordloom.output).toHaveText('Où est la gare ?', { timeout: 60_000 });
  await shots(page, wordloom, 'english-french');
  await page.getByRole('button', { name: /^Swap/ }).click();
  await expect(page.getByRole('button', { name: /^From: / })).toHaveAccessibleName('From: French');
  await page.getByRole('textbox', { name: 'French' }).fill('Où est la gare ?');
  await expect(wordloom.output).toHaveText(/^Where('s| is) the (train |railway )?station\?$/);
});

/** Light, dark and narrow. */
async function shots(page: Page, wordloom: Wordloom, name: string): Promise<void> {
  const size = page.viewportSize()!;
  await wordloom.screenshot(`${name}-light`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await wordloom.screenshot(`${name}-dark`);
  await page.setViewportSize({ width: 360, height: 740 });
  await wordloom.screenshot(`${name}-narrow`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: 'light' });
}

test('the second visit fetches nothing but, perhaps, news of a new version', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await kept(page);
  wordloom.server.requests.length = 0;
  await page.reload();
  await expect(wordloom.output).toHaveText(BAHNHOF);
  expect(wordloom.server.requests.map(({ path }) => path).filter((path) => path !== '/sw.js')).toEqual([]);
  // the model is kept once, by the engine
  const cached = await page.evaluate(async () => {
    const names = await caches.keys();
    const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return requests.flat().map(({ url }) => url);
  });
  expect(cached.length).toBeGreaterThan(4);
  expect(cached.filter((url) => url.includes('/model/'))).toEqual([]);
});

test('a new version waits until it is wanted, and then takes over whole', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await kept(page);
  const worker = await page.evaluate(async () => (await fetch('sw.js', { cache: 'no-store' })).text());
  wordloom.server.rules = [
    {
      path: '/sw.js',
      body: worker.replace(/WORDLOOM_VERSION = "\w+"/, 'WORDLOOM_VERSION = "next"'),
      type: 'text/javascript',
    },
  ];
  await page.reload();
  const news = page.getByText('A new version of this page is ready.');
  await expect(news).toBeVisible();
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await page.getByRole('button', { name: 'Reload' }).click();
  await expect(news).toHaveCount(0);
  await expect(wordloom.output).toHaveText(BAHNHOF);
  // The page is loaded anew meanwhile.
  const versions = async () => {
    const names = await page.evaluate(() => caches.keys()).catch(() => []);
    return names.filter((name) => name.startsWith('wordloom-page-'));
  };
  await expect.poll(versions).toEqual(['wordloom-page-next']);
});
