/** The lessons: eight questions about the reader's own sentence, answered with the model's numbers. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Locator, Page } from '@playwright/test';
import { expect, settled, test } from './support/page.ts';

const TIRED = "The animal didn't cross the street because it was too tired.";
const lessonsOf = (page: Page): Locator => page.getByRole('region', { name: 'Lessons' });

/** Opens a lesson, chooses an answer of each question, and checks. Returns the texts of the answers. */
async function take(page: Page, number: number, choice: number): Promise<string[]> {
  const lesson = page.locator('.lesson');
  await page.getByRole('navigation', { name: 'Lessons' }).getByRole('button').nth(number - 1).click();
  const questions = lesson.locator('.lesson__question');
  await expect(questions.first()).toBeVisible({ timeout: 60_000 });
  for (const question of await questions.all()) {
    await expect(question.getByRole('button')).toBeDisabled();
    await question.getByRole('radio').nth(choice).check();
    await question.getByRole('button', { name: 'Check with the model' }).click();
  }
  return lesson.getByRole('status').allInnerTexts();
}

test('every lesson asks, and the answers are the model’s', async ({ page, wordloom }) => {
  test.slow();
  await wordloom.open();
  await wordloom.translate(TIRED);
  await page.getByRole('button', { name: 'Lessons', exact: true }).click();
  const answers: string[][] = [];
  for (let number = 1; number <= 8; number += 1) answers.push(await take(page, number, 1));
  const said = answers.map((all) => all.join(' '));
  // d_k is 32 in the model's configuration: d_model 256, 8 heads
  expect(said[1]).toMatch(/^Right\. .*the divisor is 5\.657/);
  expect(said[2]).toMatch(/^Right\. /);
  expect(said[2]).toContain('the model says “No: it hides padding”');
  expect(said[2]).toContain('0.0 % of its weight with the mask');
  expect(said[4]).toMatch(/^Right\. .*without them, by \d\.\de−[67]/); // rounding only
  expect(said[5]).toContain('mean 0.000 and variance 1.000');
  expect(said[6]).not.toContain('“The same translation”');
  const rows = page.getByRole('region', { name: 'Translations of both searches' }).getByRole('row');
  await expect(rows).toHaveCount(3);
  // what a lesson switched off is on again
  await wordloom.translate('Where is the train station?');
  await expect(wordloom.output).toHaveText('Wo ist der Bahnhof?');
});

test('by keyboard, about a new sentence, without markup', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate('The <b onclick="alert(1)">dog</b> is <img src=x onerror=alert(2)> big.');
  await page.getByRole('button', { name: 'Lessons', exact: true }).click();
  const question = page.locator('.lesson__question').first();
  await expect(question).toBeVisible({ timeout: 60_000 });
  expect(await lessonsOf(page).locator('img, [onclick]').count()).toBe(0);
  await question.getByRole('radio').first().focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('ArrowDown');
  await expect(question.getByRole('radio').nth(1)).toBeChecked();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect(question.getByRole('status')).toContainText(/Right|the model says/);
  // another sentence, another question
  await wordloom.source.fill('I have lost my passport.');
  await settled(page);
  await expect(question.getByRole('button', { name: 'Check with the model' })).toBeVisible();
});

for (const [name, use] of [
  ['dark', { colorScheme: 'dark' }],
  ['phone', { viewport: { width: 360, height: 740 } }],
] as const) {
  test.describe(name, () => {
    test.use(use);

    test('axe finds nothing, and nothing scrolls sideways', async ({ page, wordloom }) => {
      await wordloom.open();
      await wordloom.translate(TIRED);
      await page.getByRole('button', { name: 'Lessons', exact: true }).click();
      await take(page, 3, 1);
      await wordloom.screenshot(`lessons-${name}`);
      const { violations } = await new AxeBuilder({ page }).include('#lessons').analyze();
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)).toEqual([]);
      const { scroll, width } = await page.evaluate(() => ({
        scroll: document.documentElement.scrollWidth,
        width: document.documentElement.clientWidth,
      }));
      expect(scroll).toBe(width);
    });
  });
}

test.describe('on a phone', () => {
  test.use({ viewport: { width: 360, height: 740 } });

  test('numbers of the tables stay whole', async ({ page, wordloom }) => {
    await wordloom.open();
    await wordloom.translate(TIRED);
    await page.getByRole('button', { name: 'Lessons', exact: true }).click();
    for (const number of [1, 8]) {
      await take(page, number, 0);
      const cells = page.locator('.lesson__scroll td bdi');
      await expect(cells.first()).toBeVisible();
      // a box for each line
      const broken = await cells.evaluateAll((all) =>
        all.filter((cell) => /^[−\d.e]+$/.test(cell.textContent ?? '') && cell.getClientRects().length > 1).map((cell) => cell.textContent),
      );
      expect(broken).toEqual([]);
      const table = await page.locator('.lesson__scroll').evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]);
      if (number === 8) expect(table[0]).toBe(table[1]);
      await wordloom.screenshot(`lesson-${number}-phone`);
    }
    const { scroll, width } = await page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      width: document.documentElement.clientWidth,
    }));
    expect(scroll).toBe(width);
  });
});
