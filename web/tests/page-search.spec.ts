/** The search panel: tree, length penalties, forced branches, muted heads. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Locator, Page } from '@playwright/test';
import { expect, settled, test } from './support/page.ts';

test.use({ viewport: { width: 1280, height: 1100 } });

const COFFEE = 'I would like a cup of coffee, please.';
const BEST = 'Ich hätte gern eine Tasse Kaffee.';
const searchOf = (page: Page): Locator => page.getByRole('region', { name: 'Search', exact: true });

test('the search tree: ranked anew by a length penalty, and forced along a rejected branch', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(COFFEE);
  await wordloom.look('Search');
  const panel = searchOf(page);
  const tree = panel.getByRole('group', { name: /^Search tree of \d+ tokens/ });
  await expect(tree).toBeVisible();
  const list = panel.getByRole('list', { name: 'Finished hypotheses, best first' });
  await expect(list.getByRole('listitem').first()).toContainText(BEST);
  await expect(list.getByRole('listitem').first()).toContainText('−0.10');
  await wordloom.screenshot('search');
  const { violations } = await new AxeBuilder({ page }).include('#search').analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);

  // at 0 the sum alone counts; at -1 it counts times the length
  const scores = async (): Promise<number[]> =>
    (await list.locator('.search__score').allTextContents()).map((text) =>
      Number(text.replace('score ', '').replace('−', '-')),
    );
  const lengths = async (): Promise<number[]> =>
    (await list.locator('li > .quiet').allTextContents()).map((text) => Number.parseInt(text, 10));
  const slider = panel.getByRole('slider', { name: 'Length penalty' });
  const [length = 0] = await lengths();
  const [mean = 0] = await scores();
  await slider.fill('0');
  const [sum = 0] = await scores();
  const [shortest = 0] = await lengths();
  expect(sum).toBeGreaterThanOrEqual(mean * length - 0.06);
  await slider.fill('-1');
  const low = await scores();
  expect(low).toEqual([...low].sort((a, b) => b - a));
  await slider.fill('3');
  expect((await lengths())[0]).toBeGreaterThanOrEqual(shortest);
  await panel.getByRole('button', { name: /^As the search/ }).click();
  expect((await scores())[0]).toBe(mean);

  // the table has the content of the picture
  const nodes = Number(/of (\d+) tokens/.exec((await tree.getAttribute('aria-label')) ?? '')?.[1]);
  await panel.getByText('The tree as a table').click();
  await expect(panel.getByRole('table').getByRole('row')).toHaveCount(nodes + 1);

  // by keyboard to a rejected first token, and continue from there
  await tree.getByRole('button', { name: /^Ich, step 1, .*kept/ }).focus();
  const rejected = tree.getByRole('button', { name: /, step 1, .*rejected/ }).first();
  const word = ((await rejected.getAttribute('aria-label')) ?? '').split(',')[0] ?? '';
  while (!(await rejected.evaluate((node) => node === document.activeElement))) await page.keyboard.press('ArrowDown');
  await expect(panel.locator('.tree__reading')).toContainText(`${word} with`);
  await page.keyboard.press('Enter');
  await expect(panel.getByText(`Made to begin with “${word}”`)).toBeVisible();
  await expect(list.locator('mark').first()).toHaveText(word);
  for (const text of await list.locator('.search__text').allTextContents()) expect(text.startsWith(word)).toBe(true);
  await wordloom.screenshot('search-forced');
  await panel.getByRole('button', { name: 'Back to the free search' }).click();
  await expect(list.getByRole('listitem').first()).toContainText(BEST);

  // another text has another tree, without a forced beginning
  await wordloom.source.fill('안녕 🎉!');
  await settled(page);
  await expect(panel).toHaveAttribute('aria-busy', 'false');
  await expect(panel.getByText(/^Made to begin/)).toHaveCount(0);
  await expect(list.getByText(BEST)).toHaveCount(0);
});

test('a muted head changes the translation, which says so until all heads count again', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(COFFEE);
  await wordloom.look('Attention');
  const panel = page.getByRole('region', { name: 'Attention' });
  const choose = (group: string, name: string): Promise<void> =>
    panel.getByRole('group', { name: group, exact: true }).getByLabel(name, { exact: true }).check();
  await expect(panel.locator('canvas[data-painted]')).toBeVisible();
  const banner = page.locator('.muted');
  await expect(panel.getByRole('button', { name: 'Mute this head' })).toHaveCount(0);
  await choose('Layer', '3');
  await choose('Head', '1');
  await panel.getByRole('button', { name: 'Only this head of its layer' }).click();
  await expect(banner).toContainText('Muted: cross-attention, layer 3: heads 2–8.');
  await settled(page);
  const changed = (await wordloom.output.innerText()).trim();
  expect(changed).not.toBe(BEST);
  await expect(banner).toContainText(`With all heads: ${BEST}`);
  await expect(wordloom.output.locator('mark').first()).toBeVisible();
  for (const word of await wordloom.output.locator('mark').allTextContents()) expect(BEST).not.toContain(word.trim());
  await wordloom.screenshot('muted');
  const { violations } = await new AxeBuilder({ page }).include('.page').analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);

  await choose('View', 'All heads');
  await expect(panel.getByRole('button', { name: /^Layer 3, head 8.*, muted$/ })).toBeVisible();
  await banner.getByRole('button', { name: 'All heads' }).click();
  await expect(banner).toHaveCount(0);
  await expect(wordloom.output).toHaveText(BEST);
  await expect(wordloom.output.locator('mark')).toHaveCount(0);
});

test('parts of the model are switched off, and the page says what changes', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(COFFEE);
  await wordloom.look('Attention');
  const panel = page.getByRole('region', { name: 'Attention' });
  const parts = panel.getByRole('group', { name: 'Without a part?' });
  const banner = page.locator('.muted');
  await expect(panel.locator('canvas[data-painted]')).toBeVisible();

  const positions = parts.getByRole('button', { name: 'No positions' });
  await positions.focus();
  await page.keyboard.press('Space');
  await expect(positions).toHaveAttribute('aria-pressed', 'true');
  await settled(page);
  await expect(banner).toContainText('Switched: without positions.');
  await expect(banner).toContainText(`As trained: ${BEST}`);
  await expect(wordloom.output).not.toHaveText(BEST); // a word is missing, which no mark shows

  await parts.getByLabel('Part of').selectOption('encoder.1');
  await expect(parts.getByRole('button', { name: 'No cross-attention' })).toHaveCount(0);
  await expect(positions).toHaveCount(0);
  await parts.getByRole('button', { name: 'No feed-forward' }).click();
  await expect(banner).toContainText('without positions; encoder layer 2: without feed-forward networks.');
  await settled(page);
  await wordloom.screenshot('switched');
  const { violations } = await new AxeBuilder({ page }).include('.page').analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);

  await banner.getByRole('button', { name: 'As trained' }).click();
  await expect(banner).toHaveCount(0);
  await expect(wordloom.output).toHaveText(BEST);
});

test('encoder layers take another attention, and the page says what changes', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(COFFEE);
  await wordloom.look('Attention');
  const panel = page.getByRole('region', { name: 'Attention' });
  const [layer, kind] = [panel.getByLabel(/^Encoder layer/), panel.getByLabel('Kind of attention')];
  const banner = page.locator('.muted');
  await expect(panel.locator('canvas[data-painted]')).toBeVisible();

  // a window that is wider than the sentence shows all tokens
  await kind.selectOption('window of 16');
  await expect(banner).toContainText('Swapped: encoder layers 1–4: window of 16.');
  await settled(page);
  await expect(wordloom.output).toHaveText(BEST);
  await expect(banner).toContainText('The translation is the same as trained');

  await kind.selectOption('queries as keys');
  await settled(page);
  await expect(banner).toContainText(`As trained: ${BEST} Its score was −0.105; now it is −`);
  await expect(wordloom.output.locator('mark').first()).toBeVisible();
  await layer.selectOption('2');
  await expect(kind).toHaveValue('shared-qk');
  await kind.selectOption('window of 1');
  await layer.selectOption('all');
  await expect(kind).toHaveValue('mixed');
  await expect(banner).toContainText('Swapped: encoder layer 2: window of 1; encoder layers 1, 3, 4: queries as keys.');
  await panel.getByRole('group', { name: 'Kind', exact: true }).getByLabel('Encoder', { exact: false }).check();
  // the layer's window is drawn at its place, beside the other layers
  await panel.getByRole('group', { name: 'View', exact: true }).getByLabel('All heads', { exact: true }).check();
  await expect(panel.getByRole('button', { name: /^Layer 2, head 1/ })).toBeVisible();
  await wordloom.screenshot('swapped');
  const { violations } = await new AxeBuilder({ page }).include('.page').analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);

  await banner.getByRole('button', { name: 'As trained' }).click();
  await expect(banner).toHaveCount(0);
  await expect(wordloom.output).toHaveText(BEST);
  await expect(kind).toHaveValue('');
});
