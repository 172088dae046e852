/** The page of `wordloom attend`: one file, opened from disk, without a network. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from '@playwright/test';
import { watch } from './support/page.ts';

const SUFFIX = process.platform === 'win32' ? '.exe' : '';
/** The binary that cargo's tests have built. */
const BINARY =
  process.env['WORDLOOM'] ?? fileURLToPath(new URL(`../../target/debug/wordloom${SUFFIX}`, import.meta.url));

test('a head is opened, a cell read, and its words light up', async ({ page }, info) => {
  const file = info.outputPath('attention.html');
  execFileSync(BINARY, ['attend', 'Where is the <b>train</b> station?', '--device', 'cpu', '--output', file]);
  const complaints = watch(page);
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  const address = pathToFileURL(file).href;
  await page.goto(address);
  // the text is text
  expect(await page.locator('#source b').count()).toBe(0);
  await expect(page.locator('#source')).toHaveText('Where is the <b>train</b> station?');

  const heads = page.locator('#all button');
  expect(await heads.count()).toBe(24);
  const head = page.getByRole('button', { name: /^layer 2, head 4/ });
  await head.click();
  await expect(head).toHaveAttribute('aria-pressed', 'true');
  await expect(page.locator('#caption')).toContainText('layer 2, head 4');
  await expect(page.locator('#looks')).toContainText(/entropy \d\.\d\d nats/);
  const shades = await page.locator('#cells').evaluate((canvas: HTMLCanvasElement) => {
    const data = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    return new Set(data).size;
  });
  expect(shades).toBeGreaterThan(20);
  await page.locator('#cells').hover({ position: { x: 8, y: 8 } });
  await expect(page.locator('#readout')).toHaveText(/^“.+” looks at “Where”: \d\.\d{4}$/);
  await expect(page.locator('#target .here')).not.toHaveText('');
  expect(requests).toEqual([address]);
  expect(complaints).toEqual([]);
});
