/** The tab "Train": a small model learns in the page. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { unzipSync } from 'fflate';
import { readFile } from 'node:fs/promises';

import { expectWithin, JUDGED } from './support/machine.ts';
import { expect, test } from './support/page.ts';

const start = (page: Page) => page.getByRole('button', { name: 'Start', exact: true });
const pause = (page: Page) => page.getByRole('button', { name: 'Pause', exact: true });
const state = (page: Page) => page.getByTestId('train-state');

/** Opens the tab, with the CPU unless asked. */
async function openTrain(page: Page, device: 'cpu' | 'gpu' = 'cpu'): Promise<void> {
  await page.addInitScript((value) => localStorage.setItem('wordloom', JSON.stringify({ device: value })), device);
}

/** Number of right answers, of 64. */
async function right(page: Page): Promise<number> {
  return Number(/(\d+) of 64 right/.exec(await state(page).innerText())?.[1] ?? -1);
}

async function knob(page: Page, name: string, to: number): Promise<void> {
  await page.getByRole('slider', { name }).fill(String(to));
}

/** Does what a switch to another browser tab does. */
async function hide(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}

/** One layer of width 32, small batches: seconds on any machine. */
async function small(page: Page): Promise<void> {
  await page.getByText('Model and recipe').click();
  await knob(page, 'Width, d_model', 1);
  await knob(page, 'Layers', 0);
  await knob(page, 'Pairs of a batch', 2);
}

test.describe('training', () => {
  test.beforeEach(async ({ page, wordloom }) => {
    await openTrain(page);
    await wordloom.open();
  });

  test('nothing of training is downloaded before the tab is opened', async ({ page, wordloom }) => {
    await page.waitForLoadState('networkidle');
    const ofTraining = () => wordloom.server.requests.filter(({ path }) => /rain/.test(path)).map(({ path }) => path);
    expect(ofTraining()).toEqual([]);
    await page.getByRole('button', { name: 'Train', exact: true }).click();
    await expect(start(page)).toBeVisible();
    await start(page).click();
    await expect(state(page)).toContainText('of 64 right', { timeout: 60_000 });
    expect(ofTraining().filter((path) => path.endsWith('.wasm'))).toHaveLength(1);
  });

  test('copying improves within a minute on WebAssembly, and the slider goes back in time', async ({ page, wordloom }) => {
    await page.getByRole('button', { name: 'Train', exact: true }).click();
    await start(page).click();
    await expect(state(page)).toContainText('on the CPU', { timeout: 30_000 });
    await expect.poll(() => right(page), { timeout: 60_000, intervals: [500] }).toBeGreaterThan(32);
    await wordloom.screenshot('train-light');

    await hide(page, true);
    await expect(page.getByRole('button', { name: 'Go on', exact: true })).toBeVisible();
    const halted = await state(page).innerText();
    await page.waitForTimeout(1000);
    expect(await state(page).innerText()).toBe(halted);
    await hide(page, false);
    await expect(state(page)).not.toHaveText(halted);
    await pause(page).click();
    const curve = page.getByRole('img', { name: /The curve of the loss: \d/ });
    await expect(curve).toBeVisible();

    const slider = page.getByRole('slider', { name: 'Moment of the training' });
    await slider.focus();
    await page.keyboard.press('Home');
    await expect(slider).toHaveAttribute('aria-valuetext', 'Step 0');
    const firstMap = page.locator('.moment canvas').first();
    const before = await firstMap.getAttribute('aria-label');
    await page.getByRole('button', { name: 'Newest' }).click();
    await expect(firstMap).not.toHaveAttribute('aria-label', before ?? '');
    // two layers of four heads
    await expect(page.locator('.moment canvas')).toHaveCount(8);

    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
  });

  test('a training is paused, downloaded, asked, and taken up after a reload', async ({ page }) => {
    await page.getByRole('button', { name: 'Train', exact: true }).click();
    await small(page);
    await start(page).click();
    await expect.poll(() => state(page).innerText().catch(() => ''), { timeout: 60_000 }).toMatch(/Step \d{2}/);
    await pause(page).click();
    await expect(page.getByRole('button', { name: 'Go on', exact: true })).toBeVisible();

    await page.getByRole('textbox', { name: 'An input for the model' }).fill('abcz');
    await page.keyboard.press('Enter');
    await expect(page.getByTestId('train-answer')).toContainText("'z' is no symbol of this task");

    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download the model' }).click();
    const files = unzipSync(await readFile(await (await waiting).path()));
    expect(Object.keys(files).sort()).toEqual(
      ['config.json', 'generation_config.json', 'model.safetensors', 'spiece.model', 'tokenizer_config.json'].map(
        (name) => `wordloom-trained/${name}`,
      ),
    );

    const step = /Step ([\d,]+)/.exec(await state(page).innerText())?.[1];
    await expect
      .poll(() => page.evaluate(async () => {
        const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('wordloom-training');
        return folder.getFileHandle('course.json').then(() => true, () => false);
      }).catch(() => false))
      .toBe(true);
    await page.reload();
    await page.getByRole('button', { name: 'Train', exact: true }).click();
    await page.getByRole('button', { name: /Go on with “Copy”, step/ }).click();
    await expect(state(page)).toContainText('parameters', { timeout: 30_000 });
    await expect
      .poll(async () => Number((/Step ([\d,]+)/.exec(await state(page).innerText())?.[1] ?? '0').replace(',', '')))
      .toBeGreaterThanOrEqual(Number(step?.replace(',', '')));
  });

  test('pasted pairs are learned as text; a bad line is named', async ({ page }) => {
    await page.getByRole('button', { name: 'Train', exact: true }).click();
    await page.getByRole('radio', { name: 'Your pairs' }).check();
    const pairs = page.getByRole('textbox', { name: /^Pairs/ });
    await pairs.fill('one line without a tab');
    await start(page).click();
    await expect(page.getByRole('alert')).toContainText('Line 1 has 0 tabs');
    await pairs.fill('<b>a</b>\t<img src=x>\nb → c');
    await start(page).click();
    await expect(page.getByRole('cell', { name: '<img src=x>' }).first()).toBeVisible({ timeout: 30_000 });
    await expect(page.getByRole('cell', { name: 'c', exact: true }).first()).toBeVisible();
    expect(await page.locator('.samples img, .samples b').count()).toBe(0);
    await expect(state(page)).toContainText('both learned and validated');
  });

  test('the tab is whole in the dark and on a narrow screen', async ({ page, wordloom }) => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Train', exact: true }).click();
    await page.getByText('Model and recipe').click();
    await start(page).click();
    await expect(page.locator('.moment canvas').first()).toBeVisible({ timeout: 30_000 });
    await wordloom.screenshot('train-narrow-dark');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width: 1280, height: 900 });
    await wordloom.screenshot('train-dark');
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
  });

  for (const [task, bound] of [['Copy', 300_000], ['Reverse', 600_000]] as const) {
    test(`${task.toLowerCase()}: eight letters of sixteen is learned in time`, { tag: '@speed' }, async ({ page }) => {
      test.skip(!JUDGED, 'nothing but a time');
      test.setTimeout(bound + 60_000);
      await page.getByRole('button', { name: 'Train', exact: true }).click();
      await page.getByRole('radio', { name: task }).check();
      const begun = Date.now();
      await start(page).click();
      await expect.poll(() => right(page), { timeout: bound + 30_000, intervals: [500] }).toBe(64);
      console.log(`${task}: all of 64 right after ${((Date.now() - begun) / 1000).toFixed(0)} s, ${await state(page).innerText()}`);
      expectWithin(Date.now() - begun, bound);
    });
  }
});

test('a software adapter trains too', async ({ page, wordloom }) => {
  await openTrain(page, 'gpu');
  await wordloom.open();
  await page.getByRole('button', { name: 'Train', exact: true }).click();
  await small(page);
  await start(page).click();
  await expect(state(page)).toContainText('on the GPU', { timeout: 100_000 });
  await expect.poll(() => state(page).innerText(), { timeout: 100_000 }).toMatch(/Step \d+, loss \d\.\d{3}/);
});
