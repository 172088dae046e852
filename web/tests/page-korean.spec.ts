/** The page in Korean: by the browser's language, by choice, remembered; and every text of the engine's steps has a Korean one. */
import { readFileSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium as playwright } from '@playwright/test';
import { chromium } from './support/chromium.ts';
import { FIXTURES_FOLDER } from './support/harness.ts';
import { MockHub } from './support/hub.ts';
import { drive, expect, POLICY, settled, test } from './support/page.ts';

const TIRED = "The animal didn't cross the street because it was too tired.";
const KOREAN = JSON.parse(
  readFileSync(new URL('../page/src/texts/korean.json', import.meta.url), 'utf8'),
) as Record<string, string>;

test('values stand in both texts, and none is left in English', () => {
  const values = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const [english, korean] of Object.entries(KOREAN)) {
    if (english.startsWith('error ')) continue; // a name, not a text
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

test.describe('with everything open', () => {
  test.use({ locale: 'ko-KR' });

  test('no text and no name is left in English', async ({ page, wordloom }) => {
    test.slow();
    await page.addInitScript(() => localStorage.setItem('wordloom', JSON.stringify({ device: 'cpu' })));
    const korean = (english: string): string => KOREAN[english] ?? english;
    const english = new Set<string>();
    const look = async (): Promise<void> => {
      const found = await page.evaluate(() => {
        const names = [...document.querySelectorAll('main *, header *, footer *')].flatMap((element) =>
          ['aria-label', 'title', 'placeholder', 'aria-description', 'aria-roledescription'].map((name) => element.getAttribute(name) ?? ''),
        );
        return [...document.body.innerText.split('\n'), ...names];
      });
      found.filter((text) => /[A-Za-z]{3,} [A-Za-z]{2,}/.test(text)).forEach((text) => english.add(text));
    };
    const press = (text: string) => page.getByRole('button', { name: korean(text), exact: true }).click();
    await wordloom.open();
    await expect(page.locator('html')).toHaveAttribute('lang', 'ko');
    await look();
    await page.locator('#source').fill('Hello!');
    await settled(page);
    for (const panel of ['Alternatives', 'Confidence', 'Search', 'Attention']) await press(panel);
    await page.getByRole('button', { name: new RegExp(korean('Model and device:')) }).click();
    const attention = page.locator('#attention');
    const views = attention.getByRole('group', { name: korean('View') });
    for (const kind of ['Encoder', 'Decoder', 'Cross']) {
      await attention.getByRole('radio', { name: korean(kind), exact: true }).check();
      for (const view of ['All heads', 'Lines', 'Numbers', 'Positions', 'Map']) {
        await views.getByRole('radio', { name: korean(view), exact: true }).check();
        await expect(attention.locator('.attention__map')).toBeVisible();
        await page.waitForTimeout(200);
        await look();
      }
    }
    // a head, and what can be done without it
    await attention.getByRole('radio', { name: '2', exact: true }).first().check();
    await attention.getByRole('radio', { name: '2', exact: true }).last().check();
    await press('Mute this head');
    await press('No positions');
    await expect(page.locator('.pane--target')).toHaveAttribute('aria-busy', 'false', { timeout: 60_000 });
    await look();
    await attention.getByRole('combobox', { name: korean('Part of') }).selectOption('encoder.1');
    await press('No residuals');
    await attention.getByRole('combobox', { name: korean('Kind of attention') }).selectOption('window:2');
    await expect(page.locator('.pane--target')).toHaveAttribute('aria-busy', 'false', { timeout: 60_000 });
    await look();
    await press('Lessons');
    await expect(page.locator('.lesson__question').first()).toBeVisible({ timeout: 60_000 });
    await look();
    // the examples are texts to translate, and places of the hub have names of their own
    const others = [...english].filter((text) => !/^(Where is the train|Anna and David|The animal didn)/.test(text));
    expect(others).toEqual([]);
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

test.describe('errors of the engine', () => {
  test.use({ locale: 'ko-KR' });

  test('have Korean texts by the names that the engine gives them', () => {
    const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
    const rust = read('../wasm/src/codes.rs') + read('../wasm-train/src/failure.rs');
    const files = ['hub', 'remote-folder', 'http', 'download', 'model-cache'].map((name) => read(`../ts/loading/${name}.ts`));
    const typescript = [...files, read('../ts/wasm-start.ts'), read('../ts/fetch-module.ts')].join('');
    const named = [
      ...rust.matchAll(/(?:code|of)\("([a-z-]+)"/g),
      ...rust.matchAll(/Some\(\("([a-z-]+)"/g),
      ...typescript.matchAll(/code(?::| =) (?:[^'\n]*\? )?'([a-z-]+)'/g),
      ...typescript.matchAll(/code = [^'\n]*'[a-z-]+' : '([a-z-]+)'/g),
    ].map(([, name]) => name ?? '');
    expect(new Set(named).size).toBeGreaterThan(35);
    for (const name of named) expect(KOREAN[`error ${name}`], name).toBeDefined();
    const known = Object.keys(KOREAN).filter((key) => /^error [a-z-]+$/.test(key));
    for (const key of known) expect(named, key).toContain(key.slice('error '.length));
  });

  test('a model that the hub does not have', async ({ page, wordloom }) => {
    wordloom.allowed.push(/status of 401/);
    const hub = await MockHub.start();
    try {
      hub.publish('Wordloom-Test/opus-mt-en-ko', `${FIXTURES_FOLDER}marian_tied/`);
      await page.context().route('https://huggingface.co/**', async (route) => {
        const url = route.request().url().replace('https://huggingface.co', hub.url);
        const response = await fetch(url);
        const headers = { ...Object.fromEntries(response.headers), 'access-control-allow-origin': '*' };
        await route.fulfill({ status: response.status, headers, body: Buffer.from(await response.arrayBuffer()) });
      });
      await wordloom.open();
      await page.locator('#source').fill(TIRED);
      await settled(page);
      await page.locator('.picker__button').last().click();
      await page.keyboard.type('Wordloom-Test/opus-mt-en-xx');
      await page.getByRole('button', { name: /huggingface\.co에 크기와/ }).click();
      await expect(wordloom.banner).toContainText('huggingface.co에 Wordloom-Test/opus-mt-en-xx 모델이 없어요.');
      await expect(wordloom.banner).toContainText('비슷한 이름: Wordloom-Test/opus-mt-en-ko');
    } finally {
      await hub.stop();
    }
  });

  test('a text that is too long to learn', async ({ page, wordloom }) => {
    await page.addInitScript(() => localStorage.setItem('wordloom', JSON.stringify({ device: 'cpu' })));
    await wordloom.open();
    await page.getByRole('button', { name: '학습', exact: true }).click();
    await page.getByRole('radio', { name: '내 쌍' }).check();
    await page.getByRole('textbox', { name: /^쌍/ }).fill(`a\tb\n${'x'.repeat(130)}\tc`);
    await page.getByRole('button', { name: '시작', exact: true }).click();
    await expect(page.getByRole('alert')).toContainText('2번째 줄이 너무 길어요. 글자가 130개인데 여기서는 120개까지 배워요.', {
      timeout: 30_000,
    });
  });

  test('a browser without WebGPU, with the English message below', async ({ server }) => {
    const browser = await playwright.launch({
      ...chromium.launchOptions,
      args: ['--headless=new', '--no-sandbox', '--disable-features=WebGPU'],
    });
    try {
      const context = await browser.newContext({ locale: 'ko-KR' });
      const page = await context.newPage();
      server.reset();
      server.policy = POLICY;
      const wordloom = drive(page, server);
      await page.addInitScript(() => localStorage.setItem('wordloom', JSON.stringify({ device: 'gpu' })));
      await wordloom.open();
      await expect(wordloom.banner).toContainText('이 브라우저에서 쓸 수 있는 WebGPU가 없어요.', { timeout: 30_000 });
      await expect(wordloom.banner).toContainText('CPU는 WebGPU 없이도 번역해요.');
      await wordloom.banner.getByText('영어 원문').click();
      await expect(wordloom.banner.locator('[lang=en]')).toContainText('WebGPU');
      await wordloom.screenshot('korean-no-webgpu');
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
