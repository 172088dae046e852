/** The check of the GPU in the page. */
import type { Page } from '@playwright/test';

import { expect, test } from './support/page.ts';

const stored = (page: Page) =>
  page.evaluate(() => JSON.parse(localStorage.getItem('wordloom') ?? '{}') as { passOver?: Record<string, unknown> | null });

test('the check of the GPU compares it with the CPU, and gives a report', async ({ wordloom, page, context }) => {
  test.setTimeout(600_000);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.addInitScript(() => localStorage.setItem('wordloom', JSON.stringify({ device: 'gpu' })));
  await wordloom.open();
  await wordloom.options();
  await page.getByRole('button', { name: 'Check this GPU' }).click();
  await expect(page.getByRole('progressbar', { name: 'Checking the GPU' })).toBeVisible();
  // translations do not wait
  expect(await wordloom.translate('Where is the train station?')).toBe('Wo ist der Bahnhof?');
  await expect(page.getByText('This GPU computes everything as the CPU does.')).toBeVisible({ timeout: 540_000 });
  await page.getByRole('button', { name: 'Copy the report' }).click();
  const report = await page.evaluate(() => navigator.clipboard.readText());
  expect(report).toContain('## Kernels');
  expect(report).toContain('greedy');
  await expect.poll(() => stored(page)).toMatchObject({ passOver: { wrong: [], slow: [] } });
  await wordloom.screenshot('check');
});

test('on the CPU there is nothing to check', async ({ wordloom, page }) => {
  await page.addInitScript(() => localStorage.setItem('wordloom', JSON.stringify({ device: 'cpu' })));
  await wordloom.open();
  await wordloom.options();
  await expect(page.getByTestId('device-notice')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Check this GPU' })).toHaveCount(0);
});
