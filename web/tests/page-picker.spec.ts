/** The choice of languages: models that are here, models to download, swapping, and removing. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { MockHub } from './support/hub.ts';
import { FIXTURES_FOLDER } from './support/harness.ts';
import { entry, offer } from './support/model-list.ts';
import { expect, settled, test } from './support/page.ts';

const STATION = 'Where is the train station?';
const BAHNHOF = 'Wo ist der Bahnhof?';
const SIZE = '1.3 MB';

const from = (page: Page) => page.getByRole('button', { name: /^From: / });
const to = (page: Page) => page.getByRole('button', { name: /^To: / });
const box = (page: Page) => page.getByRole('dialog');
const here = (page: Page) => box(page).getByRole('region', { name: 'On this device' });
const away = (page: Page) => box(page).getByRole('region', { name: 'To download' });
const violations = async (page: Page) => (await new AxeBuilder({ page }).analyze()).violations;

test('a language is one click away, stays ready, is remembered, and can be removed', async ({ page, wordloom }) => {
  offer(wordloom.server, [entry('opus-mt-en-ko', [['en', 'ko']]), entry('opus-mt-de-en', [['de', 'en']])]);
  await wordloom.open();
  await wordloom.translate(STATION);
  await to(page).click();
  await expect(here(page).getByRole('button')).toHaveText([/^GermanDeutschtatoeba-en-de · 10\.8 MB · CC-BY-2\.0-FR/]);
  await expect(away(page).getByRole('button')).toHaveText([/^Korean한국어opus-mt-en-ko · 1\.3 MB · CC-BY-4\.0/]);
  await expect.poll(() => violations(page)).toEqual([]);
  await wordloom.screenshot('picker-light');
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  await wordloom.screenshot('picker-dark');
  await expect.poll(() => violations(page)).toEqual([]);
  const size = page.viewportSize()!;
  await page.setViewportSize({ width: 360, height: 740 });
  await wordloom.screenshot('picker-narrow');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  await page.setViewportSize(size);

  await away(page).getByRole('button', { name: /Korean/ }).click();
  await expect(to(page)).toHaveAccessibleName('To: Korean');
  await expect(to(page)).toBeFocused();
  await expect(box(page)).toHaveCount(0);
  await expect(wordloom.output).toHaveAttribute('lang', 'ko');
  await settled(page);
  const korean = await wordloom.output.innerText();
  expect(page.workers()).toHaveLength(2);

  // Both stay ready: switching needs no request.
  wordloom.server.requests.length = 0;
  await to(page).click();
  await expect(here(page).getByRole('button', { name: /^Korean/ })).toHaveAttribute('aria-current', 'true');
  await here(page).getByRole('button', { name: /^German/ }).click();
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await to(page).click();
  await here(page).getByRole('button', { name: /^Korean/ }).click();
  await expect(wordloom.output).toHaveText(korean);
  expect(page.workers()).toHaveLength(2);
  expect([...wordloom.server.requestsFor('/model/'), ...wordloom.server.requestsFor('/models/')]).toEqual([]);

  // Remembered, also without its server.
  wordloom.server.rules.unshift({ path: '/models/', status: 503 });
  await page.reload();
  await expect(to(page)).toHaveAccessibleName('To: Korean');
  await expect(wordloom.output).toHaveText(korean);
  expect(wordloom.server.requestsFor('/models/')).toEqual([]);
  wordloom.server.rules.shift();

  await to(page).click();
  await here(page).getByRole('button', { name: /^German/ }).click();
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await to(page).click();
  await here(page).getByRole('button', { name: 'Remove opus-mt-en-ko' }).click();
  await expect(away(page).getByRole('button', { name: /^Korean/ })).toBeVisible();
  await expect.poll(() => page.workers().length).toBe(1);
  await away(page).getByRole('button', { name: /^Korean/ }).click();
  await expect(to(page)).toHaveAccessibleName('To: Korean');
  await expect(page.getByRole('button', { name: /^Swap/ })).toHaveCount(0);
});

test('models stay ready only within the memory budget, the last used first', async ({ page, wordloom }) => {
  const names = ['opus-mt-en-ko', 'opus-mt-en-fr'];
  offer(wordloom.server, names.map((name) => entry(name, [['en', name.slice(-2)]])));
  const choose = async (language: string) => {
    await to(page).click();
    await box(page).getByRole('button', { name: new RegExp(`^${language}`) }).click();
    await expect(to(page)).toHaveAccessibleName(`To: ${language}`);
  };
  await wordloom.open();
  await wordloom.translate(STATION);
  for (const language of ['Korean', 'French']) await choose(language);
  await expect.poll(() => page.workers().length).toBe(2);
  // German was used before Korean.
  wordloom.server.requests.length = 0;
  await choose('Korean');
  await expect.poll(() => page.workers().length).toBe(2);
  // On a machine with 8 MB for models, only the running one fits.
  await page.addInitScript(() => Object.defineProperty(navigator, 'deviceMemory', { value: 1 / 16 }));
  await page.reload();
  await settled(page);
  await choose('German');
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await expect.poll(() => page.workers().length).toBe(1);
});

test('languages are swapped if a model of the other direction can be had', async ({ page, wordloom }) => {
  offer(wordloom.server, [entry('opus-mt-de-en', [['de', 'en']])]);
  await wordloom.open();
  await wordloom.translate(STATION);
  const swap = page.getByRole('button', { name: /^Swap/ });
  await expect(swap).toHaveAccessibleName(`Swap: German → English (downloads ${SIZE})`);
  await swap.click();
  await expect(from(page)).toHaveAccessibleName('From: German');
  await expect(to(page)).toHaveAccessibleName('To: English');
  await expect(page.getByRole('textbox', { name: 'German' })).toHaveValue(BAHNHOF);
  await settled(page);
  await expect(swap).toHaveAccessibleName('Swap: English → German');
  await swap.click();
  await expect(from(page)).toHaveAccessibleName('From: English');
});

test('two models translate through English, and the page says so', async ({ page, wordloom }) => {
  offer(wordloom.server, [entry('opus-mt-ko-en', [['ko', 'en']])]);
  await wordloom.open();
  await wordloom.translate(STATION);
  await from(page).click();
  await away(page).getByRole('button', { name: /^Korean.*→ English/ }).click();
  await expect(from(page)).toHaveAccessibleName('From: Korean');
  await expect(to(page)).toHaveAccessibleName('To: English');
  await settled(page);
  await to(page).click();
  const german = here(page).getByRole('button', { name: /^German/ });
  await expect(german).toContainText('through English: opus-mt-ko-en, then tatoeba-en-de');
  await wordloom.screenshot('picker-through-english');
  await german.click();
  await expect(to(page)).toHaveAccessibleName('To: German');
  await expect(from(page)).toHaveAccessibleName('From: Korean');
  await expect(page.getByText(/CPU · through English/)).toBeVisible();
  await settled(page);
  const german1 = await wordloom.output.innerText();
  await wordloom.look('Attention');
  await expect(page.getByRole('application', { name: /^Attention of/ })).toBeVisible();
  await page.reload();
  await expect(to(page)).toHaveAccessibleName('To: German');
  await expect(from(page)).toHaveAccessibleName('From: Korean');
  await settled(page);
  await expect(wordloom.output).toHaveText(german1);
  // Each half is ready alone.
  await from(page).click();
  await here(page).getByRole('button', { name: /^English/ }).click();
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await expect.poll(() => page.workers().length).toBe(2);
});

test('a download can be stopped, and goes on later', async ({ page, wordloom }) => {
  wordloom.server.rules = [{ path: '/models/opus-mt-en-ko/model.safetensors', bytesPerSecond: 200_000 }];
  offer(wordloom.server, [entry('opus-mt-en-ko', [['en', 'ko']])]);
  await wordloom.open();
  await wordloom.translate(STATION);
  await to(page).click();
  await away(page).getByRole('button', { name: /^Korean/ }).click();
  await expect(box(page).getByRole('progressbar')).toBeVisible();
  await expect(box(page).getByText(/\d\.\d of 1\.3 MB/)).toBeVisible();
  await wordloom.screenshot('picker-download');
  await box(page).getByRole('button', { name: 'Stop' }).click();
  await expect(box(page).getByRole('progressbar')).toHaveCount(0);
  await expect(wordloom.output).toHaveText(BAHNHOF);
  wordloom.server.rules.shift();
  wordloom.server.requests.length = 0;
  await away(page).getByRole('button', { name: /^Korean/ }).click();
  await expect(to(page)).toHaveAccessibleName('To: Korean');
  expect(wordloom.server.requestsFor('/models/opus-mt-en-ko/').map(({ path }) => path.split('/').at(-1))).toEqual(['model.safetensors']);
  // A model with wrong sums is refused, and the one before it stays.
  await page.reload();
  await expect(to(page)).toHaveAccessibleName('To: Korean');
});

test('the picker is used with the keyboard alone', async ({ page, wordloom }) => {
  offer(wordloom.server, [entry('opus-mt-en-ko', [['en', 'ko']]), entry('opus-mt-en-fr', [['en', 'fr']])]);
  await wordloom.open();
  await wordloom.translate(STATION);
  await to(page).focus();
  await page.keyboard.press('Enter');
  const field = box(page).getByRole('textbox');
  await expect(field).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(box(page).getByRole('button', { name: /^German/ })).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(box(page).getByRole('button', { name: /^French/ })).toBeFocused();
  await page.keyboard.press('End');
  await expect(box(page).getByRole('button', { name: /^Korean/ })).toBeFocused();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowUp');
  await expect(field).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(box(page)).toHaveCount(0);
  await expect(to(page)).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(field).toBeFocused();
  await page.keyboard.type('한국');
  await expect(box(page).getByRole('button')).toHaveCount(1);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await expect(to(page)).toHaveAccessibleName('To: Korean');
  await expect(to(page)).toBeFocused();
  await page.keyboard.press('Enter');
  await page.keyboard.type('klingon');
  await expect(box(page).getByText('No model here knows “klingon”.')).toBeVisible();
  // Leaving it closes it.
  await wordloom.source.click();
  await expect(box(page)).toHaveCount(0);
});

test('a model of the hub is named, looked up, and loaded', async ({ page, wordloom }) => {
  wordloom.allowed.push(/status of 401/);
  const hub = await MockHub.start();
  try {
    hub.publish('Wordloom-Test/opus-mt-en-ko', `${FIXTURES_FOLDER}marian_tied/`);
    await page.context().route('https://huggingface.co/**', async (route) => {
      const url = route.request().url().replace('https://huggingface.co', hub.url);
      const response = await fetch(url);
      await route.fulfill({ status: response.status, headers: { ...Object.fromEntries(response.headers), 'access-control-allow-origin': '*' }, body: Buffer.from(await response.arrayBuffer()) });
    });
    await wordloom.open();
    await wordloom.translate(STATION);
    await to(page).click();
    await page.keyboard.type('Wordloom-Test/opus-mt-en-ko');
    expect(hub.requests).toEqual([]);
    await box(page).getByRole('button', { name: /Ask huggingface\.co/ }).click();
    const found = box(page).getByRole('button', { name: /1\.3 MB · cc-by-4\.0/ });
    await expect(found).toBeVisible();
    await wordloom.screenshot('picker-hub');
    await found.click();
    await expect(to(page)).toHaveAccessibleName('To: Korean');
    await settled(page);
    hub.reset();
    await page.reload();
    await expect(to(page)).toHaveAccessibleName('To: Korean');
    await settled(page);
    expect(hub.requests).toEqual([]);

    await to(page).click();
    await page.keyboard.type('Wordloom-Test/opus-mt-en-xx');
    await box(page).getByRole('button', { name: /Ask huggingface\.co/ }).click();
    await expect(wordloom.banner).toContainText('There is no model Wordloom-Test/opus-mt-en-xx at huggingface.co');
    await expect(wordloom.banner).toContainText('Near: Wordloom-Test/opus-mt-en-ko');
  } finally {
    await hub.stop();
  }
});
