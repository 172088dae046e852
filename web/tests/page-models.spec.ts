/** Models and devices: switching, a user's folder, an address, and error messages. */
import { chromium as playwright } from '@playwright/test';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from './support/chromium.ts';
import { MODEL, POLICY, drive, expect, test } from './support/page.ts';

const STATION = 'Where is the train station?';
const BAHNHOF = 'Wo ist der Bahnhof?';

test('the device can be switched while a translation is on show', async ({ page, wordloom }) => {
  test.slow();
  await wordloom.open();
  await wordloom.translate(STATION);
  await wordloom.options();
  await expect(page.getByTestId('device-notice')).toHaveText('Running on CPU (no hardware GPU found).');
  await page.getByRole('radio', { name: 'GPU' }).check();
  await expect(page.getByRole('button', { name: /Model and device/ })).toContainText('GPU', {
    timeout: 90_000,
  });
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await expect(page.getByTestId('device-notice')).toContainText('Running on WebGPU');
  await wordloom.screenshot('gpu');
  await page.getByRole('radio', { name: 'CPU' }).check();
  await expect(page.getByTestId('device-notice')).toContainText('CPU');
  await wordloom.translate('I have lost my passport.');
  await expect(wordloom.output).toHaveText('Ich habe meinen Pass verloren.');
});

test('a browser without WebGPU says so when the GPU is chosen, and goes on', async ({ server }) => {
  const browser = await playwright.launch({
    ...chromium.launchOptions,
    args: ['--headless=new', '--no-sandbox', '--disable-features=WebGPU'],
  });
  try {
    const page = await browser.newPage();
    server.reset();
    server.policy = POLICY;
    const wordloom = drive(page, server);
    await wordloom.open();
    await wordloom.translate(STATION);
    await wordloom.options();
    await page.getByRole('radio', { name: 'GPU' }).click(); // not `check`: the page soon goes back to Automatic
    await expect(wordloom.banner).toContainText('WebGPU');
    await expect(wordloom.banner.getByRole('button', { name: 'Run on the CPU' })).toBeVisible();
    await expect(page.getByRole('radio', { name: 'Automatic' })).toBeChecked();
    await wordloom.screenshot('no-webgpu');
    expect(await wordloom.translate('I have lost my passport.')).toBe('Ich habe meinen Pass verloren.');
    await wordloom.banner.getByRole('button', { name: 'Run on the CPU' }).click();
    await expect(page.getByTestId('device-notice')).toContainText('CPU');
    await expect(wordloom.banner).toHaveCount(0);
  } finally {
    await browser.close();
  }
});

test('a model folder can be chosen', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await wordloom.options();
  await page.getByLabel('Model folder', { exact: true }).setInputFiles(MODEL);
  await expect(page.getByRole('button', { name: 'Use the built-in one' })).toBeVisible();
  expect(await wordloom.translate('I have lost my passport.')).toBe('Ich habe meinen Pass verloren.');
});

test('a model folder can be dropped anywhere', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await wordloom.options();
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files: [MODEL.replace(/\/$/, '')], dragOperationsMask: 1 };
  const drag = (type: 'dragEnter' | 'dragOver' | 'drop') =>
    devtools.send('Input.dispatchDragEvent', { type, x: 300, y: 500, data });
  await drag('dragEnter');
  await drag('dragOver');
  await expect(page.getByText('Drop a document to translate it')).toBeVisible();
  await wordloom.screenshot('drop');
  await drag('drop');
  await expect(page.getByText('Drop a document to translate it')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Use the built-in one' })).toBeVisible();
  expect(await wordloom.translate('I have lost my passport.')).toBe('Ich habe meinen Pass verloren.');
});

test('a broken folder is named for what it is, and the model before it stays', async ({ page, wordloom }) => {
  const folder = await mkdtemp(join(tmpdir(), 'wordloom-'));
  try {
    await cp(MODEL, folder, { recursive: true });
    await rm(join(folder, 'source.spm'));
    await wordloom.open();
    await wordloom.translate(STATION);
    await wordloom.options();
    await page.getByLabel('Model folder', { exact: true }).setInputFiles(folder);
    await expect(wordloom.banner).toContainText('source.spm');
    await wordloom.screenshot('broken-folder');
    expect(await wordloom.translate('I have lost my passport.')).toBe('Ich habe meinen Pass verloren.');

    await writeFile(join(folder, 'source.spm'), 'not a model');
    await page.getByLabel('Model folder', { exact: true }).setInputFiles(folder);
    await expect(wordloom.banner).toContainText(/source\.spm/);
    await wordloom.banner.getByRole('button', { name: 'Dismiss' }).click();
    await expect(wordloom.banner).toHaveCount(0);
    expect(await wordloom.translate(STATION)).toBe(BAHNHOF);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a model is loaded from an address, and is there again after a reload', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await wordloom.options();
  await page
    .getByRole('textbox', { name: 'Address of a model folder' })
    .fill(`${wordloom.server.url}/fixtures/tatoeba-en-de`);
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await expect(page.getByRole('button', { name: 'Use the built-in one' })).toBeVisible();
  await expect.poll(() => wordloom.server.requestsFor('/fixtures/').length).toBeGreaterThan(3);
  await page.reload();
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await wordloom.options();
  await page.getByRole('button', { name: 'Use the built-in one' }).click();
  await expect(page.getByRole('button', { name: 'Use the built-in one' })).toHaveCount(0);
});

test('an address without a model is an error that can be retried', async ({ page, wordloom }) => {
  wordloom.allowed.push(/404/);
  await wordloom.open();
  await wordloom.translate(STATION);
  await wordloom.options();
  const address = page.getByRole('textbox', { name: 'Address of a model folder' });
  await address.fill(`${wordloom.server.url}/nowhere/opus-mt-en-fr`);
  await address.press('Enter');
  await expect(wordloom.banner).toContainText('404');
  await expect(wordloom.banner).toContainText('opus-mt-en-fr');
  await wordloom.screenshot('not-found');
  await wordloom.banner.getByRole('button', { name: 'Try again' }).click();
  await expect(wordloom.banner).toContainText('404');
  expect(await wordloom.translate('I have lost my passport.')).toBe('Ich habe meinen Pass verloren.');
  await address.fill('no address at all');
  await address.press('Enter');
  await expect(wordloom.banner).toContainText('no web address');
});

test('a first visit that cannot fetch the model says so, and goes on when asked', async ({
  page,
  wordloom,
}) => {
  wordloom.allowed.push(/503/, /Failed to load resource/);
  wordloom.server.rules = [{ path: '/model/config.json', status: 503 }];
  await wordloom.open();
  await wordloom.source.fill(STATION);
  await expect(wordloom.banner).toContainText('config.json', { timeout: 60_000 });
  await wordloom.screenshot('first-visit-failed');
  wordloom.server.rules = [];
  await wordloom.banner.getByRole('button', { name: 'Try again' }).click();
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await expect(page.getByRole('alert')).toHaveCount(0);
});

test('a slow download shows its bytes, and one may type meanwhile', async ({ page, wordloom }) => {
  wordloom.server.rules = [{ path: '/model/model.safetensors', bytesPerSecond: 6_000_000 }];
  await wordloom.open();
  await wordloom.source.fill(STATION);
  await expect(page.getByText(/^Fetching the model \d+\.\d of 10\.8 MB$/)).toBeVisible();
  await expect(page.getByRole('progressbar', { name: 'Fetching the model' })).toBeVisible();
  await wordloom.screenshot('loading');
  await expect(wordloom.output).toHaveText(BAHNHOF, { timeout: 60_000 });
});
