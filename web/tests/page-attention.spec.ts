/** The attention viewer: all heads, one head, lines, playing, numbers, positions, files and links. */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { AxeBuilder } from '@axe-core/playwright';
import type { Locator, Page, TestInfo } from '@playwright/test';
import { JUDGED, expectWithin, slowdown } from './support/machine.ts';
import { drive, expect, settled, test } from './support/page.ts';
import type { Wordloom } from './support/page.ts';
import { longestTasks } from './support/tasks.ts';
import { writeBands, writeTrace } from './support/trace.ts';

// the texts and the map on one screen
test.use({ viewport: { width: 1280, height: 1100 } });

const STATION = 'Where is the train station?';
const panelOf = (page: Page): Locator => page.getByRole('region', { name: 'Attention' });
const choose = (page: Page, group: string, name: string): Promise<void> =>
  panelOf(page).getByRole('group', { name: group, exact: true }).getByLabel(name, { exact: true }).check();

async function look(page: Page, wordloom: Wordloom, text = STATION): Promise<Locator> {
  await wordloom.open();
  await wordloom.translate(text);
  await wordloom.look('Attention');
  const panel = panelOf(page);
  await expect(panel.locator('canvas[data-painted]')).toBeVisible();
  return panel;
}

/** The pixels of a canvas, as numbers of red, green and blue. */
function pixels(canvas: Locator): Promise<{ width: number; height: number; rgb: number[] }> {
  return canvas.evaluate((element: HTMLCanvasElement) => {
    const { width, height } = element;
    const copy = Object.assign(document.createElement('canvas'), { width, height });
    const context = copy.getContext('2d', { willReadFrequently: true });
    context?.drawImage(element, 0, 0);
    const data = context?.getImageData(0, 0, width, height).data ?? [];
    return { width, height, rgb: Array.from(data).filter((_, index) => index % 4 !== 3) };
  });
}

/** Number of colours in a screenshot, each rounded to an eighth of its range; the page's paper is one of them. */
function seenColours(page: Page, png: Buffer): Promise<number> {
  return page.evaluate(async (bytes) => {
    const picture = await createImageBitmap(new Blob([Uint8Array.from(bytes)]));
    const copy = Object.assign(document.createElement('canvas'), { width: picture.width, height: picture.height });
    const context = copy.getContext('2d', { willReadFrequently: true });
    context?.drawImage(picture, 0, 0);
    const data = context?.getImageData(0, 0, picture.width, picture.height).data ?? new Uint8ClampedArray();
    const colours = new Set<number>();
    for (let pixel = 0; pixel < data.length; pixel += 4) {
      colours.add([0, 1, 2].reduce((code, part) => 8 * code + ((data[pixel + part] ?? 0) >> 5), 0));
    }
    return colours.size;
  }, [...png]);
}

/** The highlights of a text, by level. */
const litInTarget = (page: Page, level: string): Promise<string[]> =>
  page.evaluate(
    (name) => [...(CSS.highlights.get(name) ?? [])].map((range) => (range as Range).toString()),
    `lit-${level}`,
  );

/** Clicks, and returns the saved file. */
async function saved(page: Page, panel: Locator, name: string, info: TestInfo): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    panel.getByRole('button', { name: `Save as ${name}`, exact: true }).click(),
  ]);
  const path = info.outputPath(download.suggestedFilename());
  await download.saveAs(path);
  return path;
}

test('all heads at once, and one of them opened by mouse and by keyboard', async ({ page, wordloom }) => {
  const panel = await look(page, wordloom);
  await choose(page, 'View', 'All heads');
  const grid = panel.getByRole('group', { name: /^All heads of cross-attention/ });
  await expect(grid.getByRole('button')).toHaveCount(24);
  const canvas = panel.locator('canvas[data-painted]');
  await expect(canvas).toBeVisible();
  const { rgb } = await pixels(canvas);
  expect(new Set(rgb).size).toBeGreaterThan(40);

  // a head has a name as soon as its statistics are ready
  await expect(grid.getByRole('button', { name: /^Layer 3, head 8: / })).toBeVisible();
  await grid.getByRole('button', { name: /^Layer 2, head 5/ }).click();
  await expect(panel.getByText('Layer 2, head 5', { exact: true })).toBeVisible();
  await expect(panel.getByRole('group', { name: 'Head', exact: true }).getByLabel('5')).toBeChecked();

  await choose(page, 'View', 'All heads');
  await choose(page, 'Kind', 'Encoder');
  const encoder = panel.getByRole('group', { name: /^All heads of encoder self-attention/ });
  await expect(encoder.getByRole('button')).toHaveCount(32);
  await encoder.getByRole('button').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await wordloom.screenshot('attention-heads');
  await page.keyboard.press('Enter');
  await expect(panel.getByText('Layer 2, head 3', { exact: true })).toBeVisible();
  await expect(panel.getByRole('application')).toHaveAccessibleName(/7 source tokens to each other/);
});

test('a cell says its weight and lights up words in both texts', async ({ page, wordloom }) => {
  const panel = await look(page, wordloom, `Good morning! ${STATION}`);
  // the second sentence, whose words do not begin at the start of the text
  await panel.getByRole('button', { name: 'Next sentence' }).click();
  await expect(panel.getByRole('application')).toHaveAccessibleName(/6 written tokens to 7 source tokens/);
  const box = await panel.locator('.heatmap__cells').boundingBox();
  if (box === null) throw new Error('there is no map');
  const side = box.width / 7;
  // query "Bahnhof", key "station"
  await page.mouse.move(box.x + 4.5 * side, box.y + 3.5 * side);
  await expect(panel.getByRole('status')).toHaveText(/^Writing Bahnhof looked at station with 0\.\d{3}$/);
  await expect.poll(() => litInTarget(page, 'own')).toEqual(['Bahnhof']);
  const light = page.getByTestId('source-light');
  await expect(light.locator('.lit--key')).toHaveText('station');
  await expect(light).toHaveText(await wordloom.source.inputValue());
  // the copy beneath the field has the layout of the field
  const [copy, field] = await Promise.all([light.boundingBox(), wordloom.source.boundingBox()]);
  expect(copy).toEqual(field);
  await wordloom.screenshot('attention-cell');

  // the decoder does not attend to later tokens
  await choose(page, 'Kind', 'Decoder');
  await expect(panel.getByRole('application')).toHaveAccessibleName(/6 written tokens to those before them/);
  const map = panel.getByRole('application');
  await map.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  await expect(panel.getByRole('status')).toContainText(/^Writing ist looked at .* with 0\.000$/);
  await page.keyboard.press('Home');
  await expect(panel.getByRole('status')).toContainText('looked at start with');
  await page.mouse.move(0, 0);
  await map.blur();
  await expect.poll(() => litInTarget(page, 'own')).toEqual([]);
});

test('lines join the tokens, and one token has only its own', async ({ page, wordloom }) => {
  const panel = await look(page, wordloom);
  await choose(page, 'View', 'Lines');
  const lines = panel.getByRole('application', { name: /^Lines from 6 to 7 tokens/ });
  const count = () =>
    lines.locator('path').evaluateAll((paths) => paths.flatMap((path) => path.getAttribute('d')?.match(/M/g)).length);
  const all = await count();
  expect(all).toBeGreaterThan(12);
  expect(all).toBeLessThanOrEqual(42);
  await lines.focus();
  await page.keyboard.press('ArrowDown');
  await expect(panel.getByRole('status')).toHaveText(/^Writing Wo looked most at Where with 0\.\d{3}$/);
  expect(await count()).toBeLessThanOrEqual(7);
  await expect.poll(() => litInTarget(page, 'own')).toEqual(['Wo']);
  await wordloom.screenshot('attention-lines');
});

test('playing lets rows appear token by token', async ({ page, wordloom }) => {
  const panel = await look(page, wordloom);
  const canvas = panel.locator('canvas[data-painted]');
  const rowsPainted = async (): Promise<number> => {
    const { width, height, rgb } = await pixels(canvas);
    const empty = (row: number) => rgb.slice(row * width * 3, (row + 1) * width * 3).every((value) => value === 0);
    return Array.from({ length: height }, (_, row) => row).filter((row) => !empty(row)).length;
  };
  expect(await rowsPainted()).toBe(6);
  const slider = panel.getByRole('slider', { name: 'Tokens written' });
  await slider.fill('2');
  await expect(slider).toHaveAttribute('aria-valuetext', '2 of 6: ist');
  await expect.poll(rowsPainted).toBe(2);
  await wordloom.output.scrollIntoViewIfNeeded();
  await expect.poll(() => litInTarget(page, 'own')).toEqual(['ist']);
  await wordloom.screenshot('attention-playing');
  await panel.getByLabel('Speed').selectOption('4×');
  await panel.getByRole('button', { name: 'Play', exact: true }).click();
  await expect(panel.getByRole('button', { name: 'Pause' })).toBeVisible();
  await expect(panel.getByText('6 of 6')).toBeVisible();
  await expect(panel.getByRole('button', { name: 'Play', exact: true })).toBeVisible();
  await expect.poll(rowsPainted).toBe(6);
  // the encoder has no order of decoding
  await choose(page, 'Kind', 'Encoder');
  await expect(slider).toHaveCount(0);
});

test('numbers are sorted, charted, and open their head', async ({ page, wordloom }) => {
  const panel = await look(page, wordloom);
  await choose(page, 'View', 'Numbers');
  const table = panel.getByRole('table');
  await expect(table.getByRole('row')).toHaveCount(25);
  const column = async (index: number): Promise<number[]> =>
    (await table.locator(`tbody td:nth-child(${index})`).allTextContents()).map(Number.parseFloat);
  await table.getByRole('button', { name: 'Confidence' }).click();
  await expect(table.getByRole('columnheader', { name: 'Confidence' })).toHaveAttribute('aria-sort', 'descending');
  const falling = await column(6);
  expect(falling).toEqual([...falling].sort((a, b) => b - a));
  expect(falling[0]).toBeGreaterThan(falling[23] ?? 1);
  await table.getByRole('button', { name: 'Confidence' }).click();
  expect(await column(6)).toEqual([...falling].reverse());
  // ranks are ready here, too
  for (const rank of await column(14)) expect(rank).toBeGreaterThan(0);
  await expect(panel.getByRole('img', { name: /^Layer \d$/ })).toHaveCount(3);
  await wordloom.screenshot('attention-numbers');
  const first = table.locator('tbody tr').first();
  const [layer, head] = [await first.locator('td').nth(0).textContent(), await first.locator('td').nth(1).textContent()];
  await first.getByRole('button').click();
  await expect(panel.getByText(`Layer ${layer}, head ${head}`, { exact: true })).toBeVisible();
});

test('positions are the waves of the paper', async ({ page, wordloom }) => {
  const panel = await look(page, wordloom);
  await choose(page, 'View', 'Positions');
  await panel.getByLabel('Colours').selectOption('greys');
  const picture = panel.getByRole('img', { name: /50 positions and 128 dimensions/ });
  await expect(picture).toBeVisible();
  // greys range from white (-1) to black (1); this model has all 128 sines first
  const grey = async (position: number, dimension: number): Promise<number> => {
    const { width, rgb } = await pixels(picture);
    return rgb[3 * (position * width + dimension)] ?? -1;
  };
  const wave = (position: number, dimension: number) => Math.sin(position / 10_000 ** ((2 * dimension) / 256));
  await expect.poll(() => grey(11, 0)).toBeGreaterThan(240); // the sine of 11 is -1
  for (const [position, dimension] of [[0, 0], [14, 0], [20, 10], [49, 30], [49, 127]] as const) {
    const shade = await grey(position, dimension);
    // Brewer's greys are not linear, but monotonic
    const [lighter, darker] = [await grey(11, 0), await grey(14, 0)];
    if (wave(position, dimension) > 0.98) expect(shade).toBeLessThan(darker + 12);
    else if (wave(position, dimension) > 0.3) expect(shade).toBeLessThan(140);
    else if (wave(position, dimension) < -0.3) expect(shade).toBeGreaterThan(190);
    else expect(shade).toBeLessThan(lighter);
  }
  await panel.getByLabel(/^All 256 dimensions/).check();
  await expect(panel.getByRole('img', { name: /50 positions and 256 dimensions/ })).toHaveJSProperty('width', 256);
});

test('pictures, tables and weights are saved', async ({ page, wordloom }, info) => {
  const panel = await look(page, wordloom, 'He said "=1+1, <b>go</b>".');
  const png = await readFile(await saved(page, panel, 'PNG', info));
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  const svg = await readFile(await saved(page, panel, 'SVG', info), 'utf8');
  const labels = await page.evaluate((text) => {
    const drawing = new DOMParser().parseFromString(text, 'image/svg+xml');
    const strange = drawing.querySelectorAll('parsererror, script, b, foreignObject').length;
    return { strange, texts: [...drawing.querySelectorAll('text')].map((text) => text.textContent) };
  }, svg);
  expect(labels.strange).toBe(0);
  expect(labels.texts).toContain('He');
  expect(labels.texts.join(' ')).toContain('<');

  const csv = (await readFile(await saved(page, panel, 'CSV', info), 'utf8')).trimEnd().split('\r\n');
  const rows = await panel.getByRole('table').getByRole('row').count();
  expect(csv).toHaveLength(rows);
  expect(csv[0]).toContain(`"'=`); // a spreadsheet would run this
  for (const line of csv.slice(1)) {
    const weights = line.slice(line.lastIndexOf('"') + 2).split(',').map(Number);
    expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 4);
  }
  const npz = await saved(page, panel, 'NPZ', info);
  const script =
    'import numpy, sys\nf = numpy.load(sys.argv[1])\n' +
    'print(sorted(f)[0], f["cross.2"].shape, f["source_tokens"][-1], abs(f["cross.2"].sum(-1) - 1).max() < 1e-4)';
  const python = hasNumpy() ? execFileSync('python3', ['-c', script, npz], { encoding: 'utf8' }) : null;
  if (python !== null) expect(python.trim()).toMatch(/^cross\.0 \(8, \d+, \d+\) <\/s> True$/);
  expect((await readFile(npz)).subarray(0, 4).toString('latin1')).toBe('PK\u0003\u0004');

  for (const view of ['All heads', 'Lines', 'Positions']) {
    await choose(page, 'View', view);
    expect((await readFile(await saved(page, panel, 'PNG', info))).length).toBeGreaterThan(2000);
    expect(await readFile(await saved(page, panel, 'SVG', info), 'utf8')).toContain('</svg>');
  }
});

function hasNumpy(): boolean {
  try {
    execFileSync('python3', ['-c', 'import numpy'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test('a saved trace opens again without the model, and a hostile one does no harm', async ({ page: first, browser, wordloom: drivenFirst, server }, info) => {
  const before = await look(first, drivenFirst);
  await choose(first, 'Kind', 'Decoder');
  // the table is drawn after the picture
  await expect(before.getByRole('table')).toContainText('start');
  const weights = await before.getByRole('table').allTextContents();
  const files = [await saved(first, before, 'Trace', info), await saved(first, before, 'Trace as JSON', info)];

  // a first visit, without a model
  server.rules = [{ path: '/model/', status: 404 }];
  const context = await browser.newContext();
  const page = await context.newPage();
  const wordloom = drive(page, server);
  await wordloom.open();
  await expect(wordloom.banner).toBeVisible();
  await wordloom.look('Attention');
  const panel = panelOf(page);
  for (const file of files) {
    await panel.getByLabel('Trace file').setInputFiles(file);
    await expect(panel.getByText('a trace of tatoeba-en-de')).toBeVisible();
    await expect(panel.getByText('Source: Where is the train station?')).toBeVisible();
    await choose(page, 'Kind', 'Decoder');
    await expect.poll(() => panel.getByRole('table').allTextContents()).toEqual(weights);
    await panel.getByRole('button', { name: 'Back to the translation' }).click();
    await expect(panel.getByText(/a trace of/)).toHaveCount(0);
  }
  await panel.getByLabel('Trace file').setInputFiles(files[1] ?? '');
  await panel.locator('.heatmap__cells').hover();
  await expect(panel.locator('.trace-texts mark').first()).toBeVisible();
  await wordloom.screenshot('attention-file');

  const trace = JSON.parse(await readFile(files[1] ?? '', 'utf8')) as { model: string; sentences: { source_tokens: { piece: string; range: number[] }[]; attention: { weights: number[] }[] }[] };
  trace.model = '<img src=x onerror="document.title=1">';
  const [sentence] = trace.sentences;
  if (sentence === undefined) throw new Error('the trace is empty');
  for (const token of sentence.source_tokens) token.piece = '<script>document.title=1</script>';
  const hostile = info.outputPath('hostile.json');
  await writeFile(hostile, JSON.stringify(trace));
  await panel.getByLabel('Trace file').setInputFiles(hostile);
  await expect(panel.getByText('<img src=x onerror="document.title=1">')).toBeVisible();
  expect(await page.title()).toBe('Wordloom: live translation');
  expect(await page.locator('img, #page script').count()).toBe(0);

  for (const [name, content, words] of [
    ['short.json', JSON.stringify({ ...trace, sentences: [{ ...sentence, attention: sentence.attention.map((layer) => ({ ...layer, weights: [0.5] })) }] }), /is damaged: sentence 0/],
    ['other.json', '{"format": "x"}', /is not a trace/],
    ['empty.safetensors', '', /is not a trace/],
  ] as const) {
    const path = info.outputPath(name);
    await writeFile(path, content);
    await panel.getByLabel('Trace file').setInputFiles(path);
    const banner = wordloom.banner.filter({ hasText: `“${name}” could not be opened.` });
    await expect(banner).toContainText(words);
  }
  // the open trace stays
  await expect(panel.getByText('<img src=x onerror="document.title=1">')).toBeVisible();
  await context.close();
});

test('pictures that a device took with it when it was lost come again', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.options();
  await page.getByRole('radio', { name: 'GPU' }).check();
  await expect(page.getByRole('button', { name: /Model and device/ })).toContainText('GPU', { timeout: 60_000 });
  await wordloom.translate(STATION);
  await wordloom.look('Attention');
  const panel = panelOf(page);
  const canvas = panel.locator('canvas[data-painted]');
  await expect(canvas).toBeVisible();
  // the engine's device is lost as soon as it is used
  const lost = () =>
    Promise.all(
      page.workers().map((worker) =>
        worker.evaluate(() => {
          const { createCommandEncoder } = GPUDevice.prototype;
          GPUDevice.prototype.createCommandEncoder = function (...how) {
            GPUDevice.prototype.createCommandEncoder = createCommandEncoder;
            this.destroy();
            Object.assign(globalThis, { devicesLost: 1 });
            return createCommandEncoder.apply(this, how);
          };
        }),
      ),
    );
  await lost();
  await choose(page, 'View', 'All heads');
  await choose(page, 'Kind', 'Encoder');
  const encoder = panel.getByRole('group', { name: /^All heads of encoder self-attention/ });
  await expect(canvas).toHaveAttribute('data-painted', /"kind":"encoder","layer":"all"/);
  await expect(encoder.getByRole('button', { name: /^Layer 1, head 8: / })).toBeVisible();
  const gone = await Promise.all(page.workers().map((worker) => worker.evaluate(() => 'devicesLost' in globalThis)));
  expect(gone).toContain(true);
  await expect(wordloom.banner).toHaveCount(0);
  expect(await wordloom.translate('Thank you.')).toBe('Danke.');
});

test('a link brings the text and the view back, and tells no server', async ({ page, context, wordloom, server }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const text = '안녕 🎉 & good morning, #1!';
  const panel = await look(page, wordloom, text);
  await choose(page, 'Kind', 'Encoder');
  await choose(page, 'Layer', '2');
  await choose(page, 'Head', '7');
  await choose(page, 'View', 'Lines');
  await choose(page, 'View', 'Map');
  await panel.getByLabel('Colours').selectOption('cividis');
  await panel.getByLabel('Scale').selectOption('logarithmic');
  await panel.getByRole('button', { name: 'Copy a link' }).click();
  await expect(panel.getByRole('button', { name: 'Copied' })).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link.startsWith(`${server.url}/#text=`)).toBe(true);

  await page.evaluate(() => localStorage.clear());
  await page.goto('about:blank');
  await page.goto(link);
  await expect(wordloom.source).toHaveValue(text);
  await expect(panel.getByText('Layer 2, head 7', { exact: true })).toBeVisible();
  await expect(panel.getByRole('group', { name: 'Kind' }).getByLabel('Encoder')).toBeChecked();
  await expect(panel.getByLabel('Colours')).toHaveValue('cividis');
  await expect(panel.getByLabel('Scale')).toHaveValue('logarithmic');
  await wordloom.screenshot('attention-link');
  // another text clears the link
  await wordloom.translate(STATION);
  expect(new URL(page.url()).hash).toBe('');

  await page.goto('about:blank');
  await page.goto(`${server.url}/#text=%3Cimg%20src%3Dx%3E&kind=other&layer=99&head=-1&view=lines&beams=1e9&colours=url(x)`);
  await expect(wordloom.source).toHaveValue('<img src=x>');
  await settled(page);
  await expect(panel.getByText('Mean of all layers and heads')).toBeVisible();
  expect(await page.locator('img').count()).toBe(0);
});

test('a link brings muted heads, a later sentence and a forced beginning back', async ({ page, context, wordloom, server }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const panel = await look(page, wordloom, `Good morning. ${STATION}`);
  await page.getByRole('button', { name: 'Next sentence' }).first().click();
  await choose(page, 'Layer', '3');
  await choose(page, 'Head', '2');
  await panel.getByRole('button', { name: 'Mute this head' }).click();
  await expect(page.getByText('Muted:')).toBeVisible();
  await wordloom.look('Search');
  const search = page.getByRole('region', { name: 'Search', exact: true });
  const beginning = search.getByText(/^Made to begin with/);
  await search.getByRole('button', { name: /, step 1, .*rejected/ }).first().press('Enter');
  await expect(beginning).toBeVisible();
  const forced = (await beginning.textContent()) ?? '';
  await panel.getByRole('button', { name: 'Copy a link' }).click();
  await expect(panel.getByRole('button', { name: 'Copied' })).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());

  await page.evaluate(() => localStorage.clear());
  await page.goto('about:blank');
  await page.goto(link);
  await expect(beginning).toHaveText(forced);
  await expect(page.locator('.muted')).toContainText('layer 3: head 2');
  await expect(panel.getByText('2 of 2')).toBeVisible();

  // the page reports what this model does not have, and continues without it
  await page.goto('about:blank');
  await page.goto(`${server.url}/#text=Hello&view=map&muted=cross.99.99+x&search=99999999+-1&penalty=1e9`);
  await settled(page);
  await expect(wordloom.banner.filter({ hasText: 'cross.99.99' })).toBeVisible();
  const foreign = wordloom.banner.filter({ hasText: '99999999' });
  await foreign.getByRole('button', { name: 'Back to the free search' }).click();
  await expect(foreign).toHaveCount(0);
  await expect(search.getByRole('group', { name: /^Search tree of/ })).toBeVisible();
  await expect(page.locator('.muted')).toHaveCount(0);
});

for (const [name, colorScheme, viewport, looks] of [
  // with more room: the other colours, and a table
  ['wide and light', 'light', { width: 1280, height: 1100 }, ['Map', 'Numbers']],
  ['narrow and dark', 'dark', { width: 320, height: 640 }, ['Map', 'All heads', 'Lines', 'Numbers', 'Positions']],
] as const) {
  test.describe(name, () => {
    test.use({ colorScheme, viewport });

    test('the views are for everybody', async ({ page, wordloom }) => {
      const panel = await look(page, wordloom, '안녕 🎉! The animal did not cross the street because it was too tired.');
      for (const view of looks) {
        await choose(page, 'View', view);
        await expect(panel.locator('canvas[data-painted], .lines__bundle path, td, canvas[role=img]').first()).toBeAttached();
        await wordloom.screenshot(`attention-${view.toLowerCase().replace(' ', '-')}-${colorScheme}`);
        const { violations } = await new AxeBuilder({ page }).include('#attention').analyze();
        expect(violations.map(({ id, nodes }) => `${view}, ${id}: ${nodes[0]?.html}`)).toEqual([]);
        const { scrollWidth, clientWidth } = await page.evaluate(() => {
          const { scrollWidth, clientWidth } = document.documentElement;
          return { scrollWidth, clientWidth };
        });
        expect(scrollWidth, view).toBe(clientWidth);
      }
    });
  });
}

/** Time from the moment when the page has the file to the painted map. */
async function opening(page: Page, panel: Locator, file: string): Promise<number> {
  const back = panel.getByRole('button', { name: 'Back to the translation' });
  if (await back.isVisible()) await back.click();
  await expect(panel.locator('canvas[data-painted]')).toHaveCount(0);
  await page.evaluate(() => {
    performance.clearMarks();
    const input = document.querySelector('[aria-label="Trace file"]');
    input?.addEventListener('change', () => performance.mark('chosen'), { capture: true, once: true });
    new MutationObserver((_, observer) => {
      if (document.querySelector('canvas[data-painted]') === null) return;
      performance.mark('painted');
      observer.disconnect();
    }).observe(document.body, { attributes: true, childList: true, subtree: true });
  });
  await panel.getByLabel('Trace file').setInputFiles(file);
  await expect(panel.locator('canvas[data-painted]')).toBeVisible();
  return page.evaluate(() => performance.measure('opened', 'chosen', 'painted').duration);
}

test('400 tokens: the trace, its overview and a head within a second each, and the page stays free', { tag: '@speed' }, async ({
  page,
  wordloom,
}, info) => {
  await wordloom.open();
  await wordloom.look('Attention');
  const panel = panelOf(page);
  const tokens = 400;
  const file = info.outputPath('long.safetensors');
  writeTrace(file, tokens);

  const times: Record<string, number> = {};
  const timed = async (name: string, work: () => Promise<void>): Promise<void> => {
    const begun = performance.now();
    await work();
    times[name] = Math.min(times[name] ?? Infinity, performance.now() - begun);
  };
  const canvas = panel.locator('canvas[data-painted]');
  const lookAtAll = async (): Promise<void> => {
    times['opened'] = Math.min(times['opened'] ?? Infinity, await opening(page, panel, file));
    await timed('overview', async () => {
      await choose(page, 'View', 'All heads');
      await expect(canvas).toBeVisible();
    });
    await timed('head', async () => {
      await panel.getByRole('button', { name: 'Layer 2, head 5' }).click();
      await expect(panel.getByText('Layer 2, head 5', { exact: true })).toBeVisible();
      await expect(canvas).toHaveAttribute('data-painted', /"layer":1,"head":4/);
    });
    await panel.locator('.heatmap__scroll').evaluate((box) => box.scrollTo(2000, 3000));
    await panel.locator('.heatmap__cells').hover({ position: { x: 2100, y: 3100 } });
    await choose(page, 'View', 'Lines');
    await expect(panel.locator('.lines path').first()).toBeAttached();
    await choose(page, 'View', 'Map');
    await panel.getByRole('slider', { name: 'Tokens written' }).fill('200');
    await expect(canvas).toHaveAttribute('data-painted', /"rows":200/);
  };
  // the best of three, because the machine may be busy
  let tasks = [Infinity];
  for (let tries = 0; tries < (JUDGED ? 3 : 1) && !(tasks[0]! < 50 && Math.max(...Object.values(times)) < 1000); tries += 1) {
    const now = await longestTasks(page, lookAtAll);
    if (now[0]! < tasks[0]!) tasks = now;
  }
  await wordloom.screenshot('attention-long');
  const longest = tasks.map((task) => task.toFixed(1)).join(', ');
  const busy = await slowdown();
  console.log(
    `${tokens} tokens: ${JSON.stringify(times)} ms; longest tasks ${longest} ms; ` +
      `the machine is ${busy.toFixed(1)} times slower than the one of the bound`,
  );
  for (const time of Object.values(times)) expectWithin(time, 1000 * busy);
  expectWithin(tasks[0], 50);
});

test('a trace of 16,384 tokens shows its windows, small and at once', async ({ page, wordloom }, info) => {
  await wordloom.open();
  await wordloom.look('Attention');
  const panel = panelOf(page);
  const tokens = 16_384;
  const file = info.outputPath('windows.safetensors');
  writeBands(file, tokens);
  const canvas = panel.locator('canvas[data-painted]');
  const lookAtAll = async (): Promise<void> => {
    await opening(page, panel, file);
    await choose(page, 'View', 'All heads');
    await expect(canvas).toHaveAttribute('data-painted', /"layer":"all"/);
    await panel.getByRole('button', { name: 'Layer 1, head 2' }).click();
    await expect(canvas).toHaveAttribute('data-painted', /"layer":0,"head":1/);
    await panel.locator('.heatmap__cells').hover({ position: { x: 100, y: 100 } });
  };
  let tasks = await longestTasks(page, lookAtAll);
  for (let tries = 0; JUDGED && tries < 2 && tasks[0]! >= 50; tries += 1) {
    const now = await longestTasks(page, lookAtAll);
    if (now[0]! < tasks[0]!) tasks = now;
  }
  await wordloom.screenshot('attention-bands');
  const { width, height, rgb } = await pixels(canvas);
  // brightness of a place: the diagonal and the global row and column are lit, the rest is dark
  const at = (x: number, y: number): number => {
    const pixel = 3 * (Math.min(height - 1, Math.round(y * height)) * width + Math.min(width - 1, Math.round(x * width)));
    return (rgb[pixel] ?? 0) + (rgb[pixel + 1] ?? 0) + (rgb[pixel + 2] ?? 0);
  };
  // what a reader sees, with everything that lies over the canvas
  const cells = panel.locator('.heatmap__cells');
  const seen = await seenColours(page, await cells.screenshot());
  expect(seen).toBeGreaterThan(2);
  const dark = at(0.75, 0.25);
  for (const [x, y] of [[0.25, 0.25], [0.6, 0.6], [0, 0.5], [0.5, 0]] as const) expect(at(x, y)).toBeGreaterThan(dark);
  const labels = panel.locator('.heatmap__queries .heatmap__label');
  await expect(labels).toHaveCount(0);
  await cells.click({ position: { x: 200, y: 200 } });
  await expect(canvas).toHaveAttribute('data-painted', /"cell":\[1,1\],"origin":\[\d{4},\d{4}\]/);
  await expect(labels.first()).toBeVisible();
  expect(await seenColours(page, await panel.locator('.heatmap__scroll').screenshot())).toBeGreaterThan(2);
  await page.keyboard.press('ArrowDown');
  await expect(panel.locator('.heatmap__reading')).toContainText(/token \d{4}/);
  await page.keyboard.press('Escape');
  await expect(canvas).not.toHaveAttribute('data-painted', /origin/);
  await expect(labels).toHaveCount(0);
  console.log(`${tokens} tokens in windows: longest tasks ${tasks.map((task) => task.toFixed(1)).join(', ')} ms`);
  expectWithin(tasks[0], 50);
});
