/** The page's main functions: typing, alternatives, confidence, attention. */
import { readFile } from 'node:fs/promises';
import { expect, settled, test } from './support/page.ts';

const STATION = 'Where is the train station?';
const BAHNHOF = 'Wo ist der Bahnhof?';

test('typing translates', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.source.pressSequentially(STATION, { delay: 25 });
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await expect(page.getByText(/^CPU · 4 beams · [\d.]+ tokens\/s$/)).toBeVisible();
  await wordloom.screenshot('typed');
});

test('typing on replaces stale work, and what stands is never blanked', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await page.evaluate(() => {
    const output = document.querySelector('[data-testid=output]');
    const seen: string[] = [];
    Object.assign(window, { seen });
    if (output === null) return;
    new MutationObserver(() => seen.push(output.textContent ?? '')).observe(output, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });
  await wordloom.source.press('End');
  await wordloom.source.pressSequentially(' I have lost my passport. Thank you very much.', { delay: 40 });
  await expect(wordloom.output).toHaveText(`${BAHNHOF} Ich habe meinen Pass verloren. Vielen Dank.`);
  await settled(page);
  const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
  expect(seen.length).toBeGreaterThan(2);
  expect(seen.filter((text) => text.trim() === '')).toEqual([]);
});

test('sentences stay sentences when a busy page hears late that they left the screen', async ({ page, wordloom }) => {
  await page.addInitScript(() => {
    window.IntersectionObserver = class extends IntersectionObserver {
      constructor(callback: IntersectionObserverCallback, options?: IntersectionObserverInit) {
        const left = { isIntersecting: false } as IntersectionObserverEntry;
        super((entries, observer) => callback([left, ...entries], observer), options);
      }
    };
  });
  await wordloom.open();
  expect(await wordloom.translate(STATION)).toBe(BAHNHOF);
});

test('a text that is emptied leaves nothing behind', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await page.getByRole('button', { name: 'Clear the text' }).click();
  await expect(wordloom.output).toHaveText('');
  await expect(wordloom.source).toBeFocused();
  await wordloom.look('Alternatives', 'Attention');
  await expect(page.getByText(/with the first translation/)).toHaveCount(2);
});

test('line breaks, spaces and blank lines stay where they are', async ({ wordloom }) => {
  await wordloom.open();
  const text = await wordloom.translate(
    'Good morning!\n\n  Where is the train station?  I have lost my passport.\n\nYes.',
  );
  expect(text).toBe('Guten Morgen!\n\n  Wo ist der Bahnhof?  Ich habe meinen Pass verloren.\n\nJa.');
});

test('alternatives are listed with scores, and one of them can be shown', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate('I would like a cup of coffee, please.');
  await wordloom.look('Alternatives');
  const list = page.getByRole('region', { name: 'Alternatives' }).getByRole('listitem');
  await expect(list).toHaveCount(3);
  await expect(list.first()).toContainText('Ich hätte gern eine Tasse Kaffee.');
  await expect(list.first()).toContainText('−0.10');
  const third = list.nth(2).getByRole('button');
  await third.click();
  await expect(third).toHaveAttribute('aria-pressed', 'true');
  await expect(wordloom.output).toHaveText('Ich möchte bitte eine Tasse Kaffee.');
  // typing elsewhere does not undo the choice
  await wordloom.source.press('End');
  await wordloom.source.pressSequentially('\nYes.');
  await expect(wordloom.output).toHaveText('Ich möchte bitte eine Tasse Kaffee.\nJa.', {
    useInnerText: true,
  });
  await wordloom.translate('I would like a cup of coffee, please.');

  await wordloom.options();
  await page.getByRole('slider', { name: 'Alternatives' }).fill('4');
  await expect(list).toHaveCount(4);
  await page.getByRole('slider', { name: 'Beams' }).fill('1');
  await expect(list).toHaveCount(1);
  await expect(page.getByText(/CPU · greedy/)).toBeVisible();
  await wordloom.screenshot('alternatives');
});

test('alternatives belong to the sentence that is chosen', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate('Good morning!\nWhere is the train station? I have lost my passport.');
  await wordloom.look('Alternatives');
  const panel = page.getByRole('region', { name: 'Alternatives' });
  await wordloom.output.getByText('Ich habe meinen Pass verloren.').click();
  await expect(panel.getByText('3 of 3')).toBeVisible();
  await panel.getByRole('button', { name: 'Sentence before' }).click();
  await expect(panel.getByRole('listitem').first()).toContainText(BAHNHOF);
  // the caret selects, too
  await wordloom.source.press('Control+Home');
  await expect(panel.getByRole('listitem').first()).toContainText('Guten Morgen!');
});

test('confidence marks tokens and says their numbers', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate('I would like a cup of coffee, please.');
  await wordloom.look('Confidence');
  const tokens = wordloom.output.locator('.token');
  expect(await tokens.count()).toBeGreaterThan(5);
  await tokens.first().hover();
  await expect(wordloom.output.locator('.tip')).toHaveText(/^\d+(\.\d)? %$/);
  await page.mouse.move(0, 0);
  await wordloom.output.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect(tokens.nth(1)).toBeFocused();
  await expect(wordloom.output.locator('.tip')).toHaveText(
    (await tokens.nth(1).getAttribute('data-percent')) ?? '',
  );
  await wordloom.screenshot('confidence');
});

test('a sentence that a person should look at is underlined and counted', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  const doubtful = wordloom.output.locator('.is-doubtful');
  await expect(doubtful).toHaveCount(0);
  await wordloom.translate(`${STATION} The zyzzyva quoll borborygmus.`);
  await expect(doubtful).toHaveCount(1);
  await expect(doubtful).toHaveAttribute('title', 'The model was not sure here.');
  await expect(doubtful).not.toHaveText(BAHNHOF);
  await expect(page.getByText('doubtful: 1')).toBeVisible();
  await wordloom.screenshot('doubtful');
});

test('a glossary prescribes terms, and its mistakes are named', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await wordloom.options();
  const terms = page.getByRole('textbox', { name: 'Terms of the glossary' });
  await terms.fill('train station = Zugbahnhof');
  await expect(wordloom.output).toHaveText('Wo ist der Zugbahnhof?');
  // what a glossary prescribes is not the model's doubt
  await expect(wordloom.output.locator('.is-doubtful')).toHaveCount(0);
  await wordloom.screenshot('glossary');
  await page.reload();
  await expect(wordloom.output).toHaveText('Wo ist der Zugbahnhof?');
  await wordloom.look('Search');
  await expect(page.getByText('This is the search without your glossary.')).toBeVisible();
  await wordloom.options();
  await terms.fill('\ntrain station =');
  await expect(page.getByText(/Glossary, line 2: the target is empty/i)).toBeVisible();
  await terms.fill('train station\tBahnhof\tBahnhofs\nWhere = Wohin');
  await expect(wordloom.output).toContainText('Wohin');
  await terms.fill('');
  await expect(wordloom.output).toHaveText(BAHNHOF);
});

test('the attention map shows what looked where, by layer and head', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate(STATION);
  await wordloom.look('Attention');
  const panel = page.getByRole('region', { name: 'Attention' });
  const map = panel.getByRole('application');
  await expect(map).toHaveAccessibleName(/6 written tokens to 7 source tokens/);
  const rows = panel.getByRole('table').getByRole('row');
  await expect(rows).toHaveCount(7);
  // in the mean of all heads, the first word attends to the first word
  await expect(rows.nth(1)).toContainText('Wo');
  await expect(rows.nth(1).getByRole('cell').first()).toHaveText('Where');

  const mean = await rows.nth(4).textContent();
  await panel.getByRole('group', { name: 'Layer' }).getByLabel('2').check();
  await panel.getByRole('group', { name: 'Head' }).getByLabel('5').check();
  await expect(rows.nth(4)).not.toHaveText(mean ?? '');

  await map.focus();
  await expect(panel.getByRole('status')).toContainText('Writing Wo looked at');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Home');
  await expect(panel.getByRole('status')).toContainText(/Writing ist looked at Where with 0\.\d{3}/);
  await wordloom.screenshot('attention');
  const ink = await panel.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
    const data = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    return new Set(Array.from(data).filter((_, index) => index % 4 === 0)).size;
  });
  expect(ink).toBeGreaterThan(8);
});

test('the translation can be copied', async ({ page, context, wordloom }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await wordloom.open();
  await wordloom.translate(`${STATION}\n\n${STATION}`);
  await page.getByRole('button', { name: 'Copy the translation' }).click();
  await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${BAHNHOF}\n\n${BAHNHOF}`);
});

test('text, beams and device survive a reload', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.options();
  await page.getByRole('slider', { name: 'Beams' }).fill('2');
  await page.getByRole('radio', { name: 'CPU' }).check();
  // a device is remembered once it runs
  await expect(page.getByTestId('device-notice')).toHaveText('Running on CPU (asked for).');
  await wordloom.translate(STATION);
  await page.reload();
  await expect(wordloom.source).toHaveValue(STATION);
  await expect(wordloom.output).toHaveText(BAHNHOF);
  await expect(page.getByText(/CPU · 2 beams/)).toBeVisible();
  await wordloom.options();
  await expect(page.getByRole('radio', { name: 'CPU' })).toBeChecked();
});

test('an example is one click away', async ({ page, wordloom }) => {
  await wordloom.open();
  await page.getByRole('button', { name: STATION }).click();
  await expect(wordloom.output).toHaveText(BAHNHOF);
});

test('markup stays text, and every script is read its own way', async ({ page, wordloom }) => {
  await wordloom.open();
  const text =
    '<img src=x onerror="document.title=1"> <b>bold</b>\nمرحبا بالعالم\n기차역은 어디에 있습니까?\n👩‍👩‍👧‍👦 🎉\n&amp;';
  const translation = await wordloom.translate(text);
  expect(translation.split('\n')).toHaveLength(5);
  await expect(wordloom.source).toHaveValue(text);
  await wordloom.look('Alternatives', 'Confidence', 'Attention');
  await settled(page);
  expect(await page.title()).toBe('Wordloom: live translation');
  expect(await page.locator('img, b:not(.heatmap__reading b), #page script').count()).toBe(0);
  await wordloom.screenshot('scripts');
});

test('right-to-left text begins on the right', async ({ wordloom }) => {
  await wordloom.open();
  await wordloom.source.fill('שלום עולם');
  const side = await wordloom.source.evaluate((field) => field.matches(':dir(rtl)'));
  expect(side).toBe(true);
});

test('the model beside the page is the one of the repository', async ({ page, wordloom }) => {
  await wordloom.open();
  const config = await page.evaluate(async () => (await fetch('model/config.json')).text());
  const { MODEL } = await import('./support/page.ts');
  expect(config).toBe(await readFile(`${MODEL}config.json`, 'utf8'));
});

test('the licences of what the page is made of are one link away', async ({ page, wordloom }) => {
  await wordloom.open();
  await page.getByRole('link', { name: 'Licences' }).click();
  await expect(page.locator('body')).toContainText(/^preact \d/m);
  await expect(page.locator('body')).toContainText('Permission is hereby granted');
});
