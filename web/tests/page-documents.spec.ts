/** Documents in the page: chosen or dropped, translated, and saved with their formatting. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DOCUMENT_ENDINGS } from '../ts/document-endings.ts';
import { expect, test } from './support/page.ts';

const TYPES =
  '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' +
  '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>' +
  '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>';
const BODY = (runs: string): string =>
  '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' +
  `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p>${runs}</w:p></w:body></w:document>`;
const run = (text: string, format = ''): string =>
  `<w:r>${format}<w:t xml:space="preserve">${text}</w:t></w:r>`;
const BOLD = '<w:rPr><w:b/></w:rPr>';

function docx(): Buffer {
  const document = BODY(run('I have lost my ') + run('passport', BOLD) + run('.'));
  return Buffer.from(
    zipSync({ '[Content_Types].xml': strToU8(TYPES), 'word/document.xml': strToU8(document), 'word/media/a.png': strToU8('picture') }),
  );
}

async function choose(page: Page, name: string, buffer: Buffer): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Translate a file' }).click();
  await (await chooser).setFiles({ name, mimeType: 'application/octet-stream', buffer });
}

/** Saves the translation. */
async function save(page: Page): Promise<{ name: string; content: Buffer }> {
  const link = page.getByRole('link', { name: 'Save' });
  await expect(link).toBeVisible({ timeout: 60_000 });
  const download = page.waitForEvent('download');
  await link.click();
  const file = await download;
  return { name: file.suggestedFilename(), content: await readFile(await file.path()) };
}

test('a Word document comes back with its formatting; its reader is downloaded with the first document', async ({ page, wordloom }) => {
  const ofDocuments = () => wordloom.server.requests.map(({ path }) => path).filter((path) => /document/.test(path));
  await wordloom.open();
  await wordloom.translate('Hello.');
  expect(ofDocuments()).toEqual([]);
  await choose(page, 'Reise.docx', docx());
  const { name, content } = await save(page);
  expect(name).toBe('Reise.de.docx');
  const parts = unzipSync(content);
  expect(Object.keys(parts).sort()).toEqual(['[Content_Types].xml', 'word/document.xml', 'word/media/a.png']);
  expect(strFromU8(parts['[Content_Types].xml']!)).toBe(TYPES);
  // the bold words went with their meaning
  expect(strFromU8(parts['word/document.xml']!)).toBe(BODY(run('Ich habe meinen ') + run('Pass', BOLD) + run(' verloren.')));
  expect(ofDocuments().filter((path) => path.endsWith('.wasm'))).toHaveLength(1);
  const found = await new AxeBuilder({ page }).include('.document').analyze();
  expect(found.violations).toEqual([]);
  await wordloom.screenshot('document');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await expect(page.getByRole('link', { name: 'Save' })).toHaveCount(0);
});

test('a Markdown file can be dropped; only its text changes', async ({ page, wordloom }) => {
  const folder = await mkdtemp(join(tmpdir(), 'wordloom-'));
  try {
    await writeFile(join(folder, 'notes.md'), '# Hello.\r\n\r\n* Where is the **train station**?\r\n* `code` 12\r\n');
    await wordloom.open();
    await wordloom.translate('Hello.');
    const devtools = await page.context().newCDPSession(page);
    const data = { items: [], files: [join(folder, 'notes.md')], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await devtools.send('Input.dispatchDragEvent', { type, x: 300, y: 500, data });
    }
    const { name, content } = await save(page);
    expect(name).toBe('notes.de.md');
    expect(content.toString()).toBe('# Hallo!\r\n\r\n* Wo ist der **Bahnhof**?\r\n* `code` 12\r\n');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a long document shows its progress, and can be stopped', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate('Hello.');
  const lines = Array.from({ length: 4000 }, (_, index) => `I have ${index + 2} apples and a ticket to Berlin.`);
  await choose(page, 'long.txt', Buffer.from(lines.join('\n')));
  await expect(page.getByRole('region', { name: 'Document' })).toContainText(/\d+ %/, { timeout: 60_000 });
  await wordloom.screenshot('document-progress');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await expect(page.getByRole('region', { name: 'Document' })).toHaveCount(0);
  // the translator is free again
  expect(await wordloom.translate('Where is the train station?')).toBe('Wo ist der Bahnhof?');
});

test('a damaged document is named for what it is', async ({ page, wordloom }) => {
  await wordloom.open();
  await wordloom.translate('Hello.');
  await choose(page, 'broken.docx', Buffer.from('no zip'));
  await expect(wordloom.banner).toContainText('The document could not be translated.');
  await expect(wordloom.banner).toContainText(/zip/i);
  await choose(page, 'picture.pdf', Buffer.from('%PDF'));
  await expect(wordloom.banner).toContainText('.docx');
});

test('the package knows the endings that its module reads', async () => {
  const source = await readFile(new URL('../../documents/src/format.rs', import.meta.url), 'utf8');
  const table = /const ENDINGS[^=]*= &\[([\s\S]*?)\n\];/.exec(source)?.[1] ?? '';
  expect([...table.matchAll(/"(\w+)"/g)].map(([, ending]) => ending)).toEqual([...DOCUMENT_ENDINGS]);
});
