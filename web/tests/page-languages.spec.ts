/** Models with a choice of languages, and models without. */
import { rm } from 'node:fs/promises';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { chooseDirection, languageNames } from '../page/src/engine/languages.ts';
import { FIXTURES_FOLDER } from './support/harness.ts';
import { multilingual } from './support/multilingual.ts';
import { expect, settled, test } from './support/page.ts';

const TEXT = 'Hello world!';

test.use({ locale: 'de-DE' });

async function load(page: Page, address: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Address of a model folder' }).fill(address);
  await page.getByRole('button', { name: 'Load', exact: true }).click();
}

test('languages are chosen beside the texts, and remembered', async ({ page, wordloom }) => {
  const folder = await multilingual();
  wordloom.server.mount('/multilingual/', `${folder}/`);
  try {
    await wordloom.open();
    await wordloom.translate(TEXT);
    const [from, to] = [page.getByRole('combobox', { name: 'From' }), page.getByRole('combobox', { name: 'To' })];
    await expect(from.or(to)).toHaveCount(0);
    await wordloom.options();
    await load(page, `${wordloom.server.url}/multilingual`);
    await expect(from).toHaveValue('en_XX');
    // Without a choice, the page takes a language that the user reads.
    await expect(to).toHaveValue('de_DE');
    await expect(to.locator('option:checked')).toHaveText('German');
    await expect(to).toHaveAccessibleDescription('This model writes 25 languages. Choose yours.');
    await settled(page);
    const guessed = await wordloom.output.innerText();
    await page.getByRole('button', { name: 'Close' }).click();
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    await wordloom.screenshot('languages-light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await wordloom.screenshot('languages-dark');
    const size = page.viewportSize()!;
    await page.setViewportSize({ width: 320, height: 568 });
    await wordloom.screenshot('languages-narrow');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
    await page.setViewportSize(size);

    // Leaving the field confirms its value.
    await to.focus();
    await page.keyboard.press('Tab');
    await expect(page.getByText('Choose yours')).toHaveCount(0);
    await expect(to).toHaveValue('de_DE');
    await to.selectOption('Japanese');
    await expect(wordloom.output).not.toHaveText(guessed);
    await settled(page);
    const japanese = await wordloom.output.innerText();
    await expect(wordloom.output).toHaveAttribute('lang', 'ja');
    await from.focus();
    await page.keyboard.type('French');
    await expect(from).toHaveValue('fr_XX');
    await expect(wordloom.output).not.toHaveText(japanese);
    await page.reload();
    await expect(from).toHaveValue('fr_XX');
    await expect(to).toHaveValue('ja_XX');
    await settled(page);
    await from.selectOption('English');
    await expect(wordloom.output).toHaveText(japanese);
    // Back to a model of one pair: the choice disappears.
    await wordloom.options();
    await page.getByRole('button', { name: 'Use the built-in one' }).click();
    await expect(from.or(to)).toHaveCount(0);
    await expect(wordloom.output).toHaveText('Hallo!');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a model that cannot translate is refused for what it is', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(TEXT);
  await wordloom.options();
  await page.getByLabel('Model folder', { exact: true }).setInputFiles(`${FIXTURES_FOLDER}bert`);
  await expect(wordloom.banner).toContainText('“bert” cannot translate');
  await expect(wordloom.banner).toContainText('Models that translate are Marian, mBART, M2M100, NLLB and T5.');
  await wordloom.screenshot('cannot-translate');
  await page.getByLabel('Model folder', { exact: true }).setInputFiles(`${FIXTURES_FOLDER}t5_relu_tied`);
  await expect(wordloom.banner).toContainText('“t5_relu_tied” cannot translate');
  await expect(wordloom.banner).toContainText('spiece.model');
  expect(await wordloom.translate('Thank you.')).toBe('Danke.');
});

test('languages have their names, whatever a model calls them', () => {
  const names = (codes: string) => languageNames(codes.split(' ')).map(({ code, name }) => `${code} ${name}`);
  expect(names('zho_Hant eng_Latn deu_Latn zho_Hans taq_Tfng')).toEqual([
    'zho_Hans Chinese (Simplified)',
    'zho_Hant Chinese (Traditional)',
    'eng_Latn English',
    'deu_Latn German',
    'taq_Tfng taq_Tfng',
  ]);
  expect(names('en_XX ar_AR de_DE')).toEqual(['ar_AR Arabic', 'en_XX English', 'de_DE German']);
  expect(names('de no_such_code fra')).toEqual(['fra French', 'de German', 'no_such_code no_such_code']);
});

test('a direction is what was chosen, what the model says, or what the visitor reads', () => {
  const none = { source: null, target: null };
  const defaults = { beams: 1, lengthPenalty: 1, maxLength: null, sample: false };
  const unsaid = { ...defaults, sourceLanguage: 'eng_Latn', targetLanguage: null };
  const nllb = ['deu_Latn', 'eng_Latn', 'fra_Latn'];
  const all = { source: nllb, target: nllb, pairs: null };
  const choose = chooseDirection;
  expect(choose(all, unsaid, none, ['en-US', 'fr'])).toEqual({ source: 'eng_Latn', target: 'fra_Latn', guessed: true });
  expect(choose(all, unsaid, none, ['en-US'])).toEqual({ source: 'eng_Latn', target: 'deu_Latn', guessed: true });
  const said = { ...unsaid, targetLanguage: 'fra_Latn' };
  expect(choose(all, said, none, ['de'])).toMatchObject({ target: 'fra_Latn', guessed: false });
  // The codes of another model.
  const other = choose(all, unsaid, { source: 'fr_XX', target: 'de' }, []);
  expect(other).toEqual({ source: 'fra_Latn', target: 'deu_Latn', guessed: false });
  const pairs: [string, string][] = [['en', 'de'], ['en', 'fr'], ['de', 'en']];
  const tasks = { source: ['en', 'de'], target: ['de', 'fr', 'en'], pairs };
  const silent = { ...unsaid, sourceLanguage: null };
  expect(choose(tasks, silent, { source: 'de', target: 'fr' }, [])).toEqual({ source: 'de', target: 'en', guessed: false });
  expect(choose(tasks, silent, { source: null, target: 'fr' }, [])).toEqual({ source: 'en', target: 'fr', guessed: false });
  const tags = { source: [], target: ['fra', 'spa'], pairs: null };
  expect(choose(tags, silent, none, ['es'])).toEqual({ source: null, target: 'spa', guessed: true });
  for (const fixed of [{ source: [], target: [], pairs: null }, { source: [], target: ['kor'], pairs: null }]) {
    expect(choose(fixed, silent, { source: 'en', target: 'de' }, ['de'])).toEqual({ ...none, guessed: false });
  }
});
