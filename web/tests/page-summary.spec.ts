/** Models that summarize: the whole text is one source. */
import { rm } from 'node:fs/promises';
import { expect, test } from './support/page.ts';
import { grown } from './support/grown.ts';

test('a model that summarizes reads the whole text, and says what it leaves out', async ({ page, wordloom }) => {
  const folder = await grown({
    model: 'led', // 64 positions for sources, 40 for summaries
    vocabulary: 900,
    files: { 'tokenizer.json': 'bytelevel_bpe_bart.tokenizer.json' },
    written: {
      'tokenizer_config.json': { tokenizer_class: 'LEDTokenizer' },
      'generation_config.json': { max_length: 12, num_beams: 1, decoder_start_token_id: 2, eos_token_id: 2, pad_token_id: 1 },
    },
  });
  wordloom.server.mount('/led/', `${folder}/`);
  try {
    await wordloom.open();
    await wordloom.options();
    await page.getByRole('textbox', { name: 'Address of a model folder' }).fill(`${wordloom.server.url}/led`);
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await expect(page.getByRole('button', { name: /^To: / })).toHaveAccessibleName('To: Summary');
    const text = 'Where is the train station?\nI have lost my passport. ';
    await wordloom.source.fill(text);
    await expect(page.locator('[data-sentence]')).toHaveCount(1);
    await expect(page.getByRole('region', { name: 'Summary' })).not.toHaveText('');
    await expect(page.getByText('are left out')).toHaveCount(0);
    await wordloom.source.fill(text.repeat(8));
    await expect(page.getByText(/the last \d+ tokens are left out/)).toBeVisible();
    await expect(page.locator('[data-sentence]')).toHaveCount(1);
    await page.getByRole('button', { name: 'Close' }).click();
    await wordloom.screenshot('summary');
    // a summary that is known is shown with what it leaves out
    await wordloom.source.fill(text);
    await expect(page.getByText('are left out')).toHaveCount(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
