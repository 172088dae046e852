/** Accessibility: no violation found by axe; keyboard alone, any zoom, dark mode. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, settled, test } from './support/page.ts';

const TEXT = "Where is the train station? The animal didn't cross the street because it was too tired.";

async function violations(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ['violations'] }).analyze();
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  );
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing, empty or full', async ({ page, wordloom }) => {
      test.slow();
      await wordloom.open();
      expect(await violations(page)).toEqual([]);
      await wordloom.translate(TEXT);
      await wordloom.options();
      await wordloom.look('Alternatives', 'Confidence', 'Attention');
      await expect(page.getByRole('application')).toBeVisible();
      await settled(page);
      await wordloom.screenshot(`everything-${colorScheme}`);
      expect(await violations(page)).toEqual([]);
      await page.getByRole('textbox', { name: 'Address of a model folder' }).fill('no address');
      await page.keyboard.press('Enter');
      await expect(wordloom.banner).toBeVisible();
      expect(await violations(page)).toEqual([]);
    });
  });
}

for (const [name, viewport] of [
  ['phone', { width: 360, height: 740 }],
  ['320 pixels', { width: 320, height: 568 }],
  // 1280 × 1024 at 400 %
  ['400 % zoom', { width: 320, height: 256 }],
] as const) {
  test.describe(name, () => {
    test.use({ viewport });

    test('nothing scrolls sideways, and nothing is cut off', async ({ page, wordloom }) => {
      await wordloom.open();
      await wordloom.translate(`${TEXT} ${'Donaudampfschifffahrt'.repeat(8)}`);
      await wordloom.options();
      await wordloom.look('Alternatives', 'Confidence', 'Attention');
      await settled(page);
      await wordloom.screenshot(`at-${name.replace(/\W+/g, '-')}`);
      const { scroll, width } = await page.evaluate(() => ({
        scroll: document.documentElement.scrollWidth,
        width: document.documentElement.clientWidth,
      }));
      expect(scroll).toBe(width);
      for (const button of await page.getByRole('button').all()) {
        const box = await button.boundingBox();
        if (box !== null) expect(box.x + box.width).toBeLessThanOrEqual(width);
      }
      // one line each: no name is broken within
      for (const name of [page.getByRole('heading', { name: 'Wordloom' }), ...(await page.locator('.tab').all())]) {
        const lines = await name.evaluate((element) => {
          const words = document.createRange();
          words.selectNodeContents(element);
          return words.getClientRects().length;
        });
        expect(lines).toBe(1);
      }
    });
  });
}

test('everything can be done with the keyboard', async ({ page, wordloom }) => {
  await wordloom.open();
  const press = async (key: string, times = 1): Promise<void> => {
    for (let time = 0; time < times; time += 1) await page.keyboard.press(key);
  };
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let step = 0; step < 40; step += 1) {
      await press('Tab');
      const text = await page.evaluate(() => {
        const element = document.activeElement;
        if (element === null || element === document.body) return '';
        const field = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;
        const label = field ? element.labels?.[0]?.textContent : element.textContent;
        return `${element.getAttribute('aria-label') ?? ''} ${label ?? ''}`;
      });
      if (name.test(text)) {
        const ring = await page.evaluate(() => {
          const element = document.activeElement as HTMLElement;
          const shown = element.matches('input[type=radio]')
            ? (element.nextElementSibling ?? element)
            : element;
          const style = getComputedStyle(shown);
          return (
            style.outlineStyle !== 'none' ||
            getComputedStyle(element.closest('.pane') ?? element).boxShadow !== 'none'
          );
        });
        expect(ring, `a focus ring on ${text}`).toBe(true);
        return;
      }
    }
    throw new Error(`Tab never reached ${name}`);
  };

  await tabTo(/Model and device/);
  await press('Enter');
  await tabTo(/Automatic/);
  await press('ArrowRight', 2);
  await expect(page.getByRole('radio', { name: 'CPU' })).toBeChecked();
  await tabTo(/Beams/);
  await press('ArrowLeft', 2);
  await tabTo(/^ English$/);
  await page.keyboard.type('Where is the train station?');
  await expect(wordloom.output).toHaveText('Wo ist der Bahnhof?');
  await expect(page.getByText(/CPU · 2 beams/)).toBeVisible();
  await tabTo(/Alternatives/);
  await press('Space');
  await tabTo(/Attention/);
  await press('Space');
  await tabTo(/−0\.\d/);
  await press('Tab');
  await press('Enter');
  await expect(wordloom.output).not.toHaveText('Wo ist der Bahnhof?');
  // it appears when the attention of the other, longer translation is ready
  await expect(page.getByRole('application', { name: /^Attention of 7 written tokens/ })).toBeVisible();
  await tabTo(/Attention of/);
  await press('ArrowRight');
  await expect(page.getByRole('region', { name: 'Attention' }).getByRole('status')).toContainText(
    'looked at',
  );
  await tabTo(/mean/);
  await press('ArrowRight');
  await expect(page.getByRole('group', { name: 'Layer' }).getByLabel('1')).toBeChecked();
});

test('a screen reader hears the translation once it has settled', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate('Where is the train station?');
  const announcer = page.getByTestId('announcer');
  await expect(announcer).toHaveText('Wo ist der Bahnhof?');
  await page.evaluate(() => {
    const said: string[] = [];
    Object.assign(window, { said });
    const element = document.querySelector('[data-testid=announcer]');
    if (element === null) return;
    new MutationObserver(() => said.push(element.textContent ?? '')).observe(element, {
      childList: true,
      subtree: true,
      characterData: true,
    });
  });
  await wordloom.source.press('End');
  await wordloom.source.pressSequentially(' I have lost my passport.', { delay: 60 });
  await expect(announcer).toHaveText('Wo ist der Bahnhof? Ich habe meinen Pass verloren.');
  const said = await page.evaluate(() => (window as unknown as { said: string[] }).said);
  expect(said.length).toBeLessThanOrEqual(2);
});
