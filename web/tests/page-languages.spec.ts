/** Models with a choice of languages, and models without. */
import { rm } from 'node:fs/promises';
import { AxeBuilder } from '@axe-core/playwright';
import type { Locator, Page } from '@playwright/test';
import { chooseDirection, languageName, plainTag } from '../page/src/engine/languages.ts';
import { bestOffer, type Offer, rowsOf } from '../page/src/models/offers.ts';
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
    const side = (name: 'From' | 'To') => page.getByRole('button', { name: new RegExp(`^${name}: `) });
    const [from, to] = [side('From'), side('To')];
    const choose = async (trigger: Locator, language: string) => {
      await trigger.click();
      await page.getByRole('dialog').getByRole('textbox').fill(language);
      await page.getByRole('dialog').getByRole('button', { name: new RegExp(`^${language}`) }).first().click();
    };
    await expect(to).toHaveAccessibleName('To: German');
    await wordloom.options();
    await load(page, `${wordloom.server.url}/multilingual`);
    await expect(page.getByText('This model writes 25 languages. Choose yours.')).toBeVisible();
    await expect(from).toHaveAccessibleName('From: English');
    // Without a choice, the page takes a language that the user reads.
    await expect(to).toHaveAccessibleName('To: German');
    await expect(to).toHaveAccessibleDescription('This model writes 25 languages. Choose yours.');
    await settled(page);
    const guessed = await wordloom.output.innerText();
    await page.getByRole('button', { name: 'Close' }).click();
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    await to.click();
    await wordloom.screenshot('languages-light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await wordloom.screenshot('languages-dark');
    const size = page.viewportSize()!;
    await page.setViewportSize({ width: 320, height: 568 });
    await wordloom.screenshot('languages-narrow');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
    await page.setViewportSize(size);

    // Closing the list confirms the choice.
    await page.keyboard.press('Escape');
    await expect(page.getByText('Choose yours')).toHaveCount(0);
    await expect(to).toHaveAccessibleName('To: German');
    await choose(to, 'Japanese');
    await expect(wordloom.output).not.toHaveText(guessed);
    await settled(page);
    const japanese = await wordloom.output.innerText();
    await expect(wordloom.output).toHaveAttribute('lang', 'ja');
    await choose(from, 'French');
    await expect(from).toHaveAccessibleName('From: French');
    await expect(wordloom.output).not.toHaveText(japanese);
    await page.reload();
    await expect(from).toHaveAccessibleName('From: French');
    await expect(to).toHaveAccessibleName('To: Japanese');
    await settled(page);
    await choose(from, 'English');
    await expect(wordloom.output).toHaveText(japanese);
    await page.getByRole('button', { name: 'Swap: Japanese → English' }).click();
    await expect(from).toHaveAccessibleName('From: Japanese');
    await expect(page.getByRole('textbox', { name: 'Japanese' })).toHaveValue(japanese);
    await page.getByRole('button', { name: 'Swap: English → Japanese' }).click();
    // An unfinished translation does not replace the text.
    const long = Array.from({ length: 400 }, (_, number) => `${number} times hello!`).join('\n');
    await page.getByRole('textbox', { name: 'English' }).fill(long);
    await page.getByRole('button', { name: 'Swap: Japanese → English' }).click();
    await expect(page.getByRole('textbox', { name: 'Japanese' })).toHaveValue(long);
    await page.getByRole('button', { name: 'Swap: English → Japanese' }).click();
    // Back to a model of one pair.
    await page.getByRole('textbox', { name: 'English' }).fill(TEXT);
    await wordloom.options();
    await page.getByRole('button', { name: 'Use the built-in one' }).click();
    await expect(to).toHaveAccessibleName('To: German');
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

test('a language is the same, whatever a model calls it', () => {
  const plain = (codes: string) => codes.split(' ').map(plainTag).join(' ');
  expect(plain('de deu deu_Latn de_DE de-AT')).toBe('de de de de de');
  expect(plain('en_XX eng_Latn zho_Hans zho_Hant zh srp_Cyrl no_such_code')).toBe('en en zh zh-Hant zh sr no_such_code');
  expect(['de', 'zh-Hant', 'no_such_code'].map(languageName)).toEqual(['German', 'Chinese (Traditional)', null]);
});

test('the rows of a picker: models here first choice, the pair before many languages', () => {
  const offerOf = (key: string, more: Partial<Offer>): Offer => {
    return { key, choice: { kind: 'hub', name: key }, name: key, pairs: [], languages: [], bytes: 1, licence: null, here: false, stored: null, ...more };
  };
  const ende = offerOf('ende', { pairs: [['en', 'de']], here: true });
  const many = offerOf('many', { languages: ['en', 'de', 'ko'], bytes: 900 });
  const koen = offerOf('koen', { pairs: [['ko', 'en']], bytes: 50 });
  const offers = [many, ende, koen];
  const now = { source: 'en', target: 'de' };
  const list = (side: 'from' | 'to') => rowsOf(offers, side, now).map(({ language, offer, source, target }) => `${language}: ${offer.key} ${source}>${target}`);
  expect(list('to').sort()).toEqual(['de: ende en>de', 'de: many en>de', 'ko: many en>ko']);
  // Korean is had into German; German, the present target, into the present source.
  expect(list('from').sort()).toEqual(['de: many de>en', 'en: ende en>de', 'en: many en>de', 'ko: many ko>de']);
  expect(bestOffer(offers, 'en', 'de')?.key).toBe('ende');
  expect(bestOffer(offers, 'ko', 'en')?.key).toBe('koen');
  expect(bestOffer(offers, 'en', 'en')).toBeNull();
  expect(bestOffer([ende], 'de', 'en')).toBeNull();
  // Through English, if both halves are here and no model here does the pair.
  const both = [ende, { ...koen, here: true }, many];
  const through = rowsOf(both, 'to', { source: 'ko', target: 'en' }).map(({ language, offer, via }) => `${language}: ${via?.key ?? ''} ${offer.key}`);
  expect(through.sort()).toEqual(['de:  many', 'de: koen ende', 'en:  koen', 'en:  many']);
  expect(rowsOf([...both, { ...many, here: true }], 'to', { source: 'ko', target: 'en' }).some(({ via }) => via !== null)).toBe(false);
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
