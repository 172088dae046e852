/** The page in Korean: by the browser's language, by choice, remembered; and every text of the engine's steps has a Korean one. */
import { readFileSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from './support/page.ts';

const TIRED = "The animal didn't cross the street because it was too tired.";
const KOREAN = JSON.parse(
  readFileSync(new URL('../page/src/texts/korean.json', import.meta.url), 'utf8'),
) as Record<string, string>;

test('values stand in both texts, and none is left in English', () => {
  const values = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const [english, korean] of Object.entries(KOREAN)) {
    expect([...new Set(values(korean))], english).toEqual([...new Set(values(english))]);
  }
});

test('every step of an explanation has its Korean texts', async () => {
  const source = readFileSync(new URL('../../src/explain/words.rs', import.meta.url), 'utf8');
  // strings of the file, without its sections and comments
  const code = source.replace(/^\s*\/\/.*$/gm, '');
  const strings = [...code.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text ?? '');
  const told = strings.filter((text) => !/^§|^(RMSNorm|Xiong|T5)/.test(text));
  expect(told.length).toBeGreaterThan(40);
  for (const text of told) expect(KOREAN[text], text).toBeDefined();
});

test.describe('a Korean browser', () => {
  test.use({ locale: 'ko-KR' });

  test('shows the page in Korean, and remembers another choice', async ({ page, wordloom }) => {
    await wordloom.open();
    await expect(page.locator('html')).toHaveAttribute('lang', 'ko');
    const source = page.locator('#source');
    await source.fill(TIRED);
    await expect(page.locator('.pane--target .sentence').first()).toBeVisible({ timeout: 60_000 });
    await page.getByRole('button', { name: '어텐션', exact: true }).click();
    await page.getByRole('group', { name: '보기' }).getByLabel('현미경').check();
    await expect(page.getByTestId('microscope')).toHaveAttribute('aria-busy', 'false', { timeout: 30_000 });
    await expect(page.locator('.scope__title').nth(2)).toContainText('쿼리');
    await page.getByRole('button', { name: '강의', exact: true }).click();
    await expect(page.locator('.lesson__question').first()).toBeVisible({ timeout: 60_000 });
    await wordloom.screenshot('korean');
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)).toEqual([]);

    await page.getByRole('combobox', { name: '이 페이지의 언어' }).selectOption('en');
    await expect(page.getByRole('button', { name: 'Lessons', exact: true })).toBeVisible();
    await expect(page.locator('html')).toHaveAttribute('lang', 'en');
    await page.reload();
    await expect(page.getByRole('button', { name: 'Lessons', exact: true })).toBeVisible();
  });
});

test.describe('the tab of training', () => {
  test.use({ locale: 'ko-KR' });

  test('is Korean, too', async ({ page, wordloom }) => {
    await page.addInitScript(() => localStorage.setItem('wordloom', JSON.stringify({ device: 'cpu' })));
    await wordloom.open();
    await page.getByRole('button', { name: '학습', exact: true }).click();
    await page.getByText('모델과 학습법').click();
    await page.getByRole('button', { name: '시작', exact: true }).click();
    await expect(page.getByTestId('train-state')).toContainText('64개 중', { timeout: 60_000 });
    await page.getByRole('button', { name: '멈추기', exact: true }).click();
    // a symbol of the task is a letter; words are of the page
    const words = (await page.locator('main').innerText()).match(/[A-Za-z]{3,}( [A-Za-z]{2,})+/g) ?? [];
    expect(words.filter((text) => !/^(Attention Is All You Need|Vaswani)/.test(text))).toEqual([]);
    await wordloom.screenshot('korean-train');
  });
});

test.describe('on a phone', () => {
  test.use({ locale: 'ko', viewport: { width: 360, height: 740 } });

  test('nothing scrolls sideways', async ({ page, wordloom }) => {
    await wordloom.open();
    await expect(page.getByRole('button', { name: '강의', exact: true })).toBeVisible();
    const { scroll, width } = await page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      width: document.documentElement.clientWidth,
    }));
    expect(scroll).toBe(width);
  });
});
