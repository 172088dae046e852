/** Tokenizers that Hugging Face's library reads, in a module of their own: ids and texts against transformers. */
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { expect, FIXTURES_FOLDER, test } from './support/harness.ts';
import { grown, type Grown } from './support/grown.ts';

interface Older {
  files: Record<string, string>;
  contents: Record<string, unknown>;
  items: [text: string, ids: number[], decoded: string][];
}

const stored = (name: string): unknown => JSON.parse(readFileSync(`${FIXTURES_FOLDER}../tokenizers/${name}`, 'utf8'));
const older = stored('older.expected.json') as Older[];
const MODULE = 'wordloom_web_tokenizer_bg.wasm';

/** The case of an older folder of this family, with these files. */
function caseOf(family: string, file: string): Older {
  return older.find(({ files, contents }) => {
    return file in files && (contents['config.json'] as { model_type: string }).model_type === family;
  })!;
}

const BART: Grown = {
  model: 'bart',
  vocabulary: 460,
  files: caseOf('bart', 'merges.txt').files,
};

for (const [family, file] of [['bart', 'merges.txt'], ['led', 'merges.txt'], ['gpt2', 'merges.txt'], ['bert', 'vocab.txt'], ['distilbert', 'vocab.txt']] as const) {
  test(`${family}: an older folder reads texts as transformers does`, async ({ api, server }) => {
    const { files, contents, items } = caseOf(family, file);
    const { 'config.json': _, ...written } = contents;
    const folder = await grown({ model: family, vocabulary: 460, files, written });
    server.mount(`/fixtures/text-${family}/`, `${folder}/`);
    try {
      const result = await api.evaluate(
        async ([model, texts, ids]) => {
          const translator = await wordloom.Translator.create({ model, device: 'cpu' });
          const read = await Promise.all(texts.map((text) => translator.tokenize(text)));
          const written = await Promise.all(ids.map((list) => translator.detokenize(list)));
          const whole = await translator.detokenize(ids[0]!, { skipSpecialTokens: false });
          const { idsOnly, family } = translator.info.model;
          translator.destroy();
          return { read: read.map(({ ids }) => ids), written, whole, idsOnly, family };
        },
        [`${server.url}/fixtures/text-${family}/`, items.map(([text]) => text), items.map(([, ids]) => ids)] as const,
      );
      expect(result.read).toEqual(items.map(([, ids]) => ids));
      expect(result.written).toEqual(items.map(([, , decoded]) => decoded));
      expect(result.idsOnly === null).toBe(family === 'bart' || family === 'led');
      expect(server.requests.filter(({ path }) => path.endsWith(MODULE)).length).toBe(1);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

test('tokenizer.json: ids, a translation with its words, and a stream', async ({ api, server }) => {
  const { items } = stored('bytelevel_bpe_bart.expected.json') as { items: { text: string; ids: number[]; decoded: string }[] };
  const folder = await grown({
    model: 'bart',
    vocabulary: 900,
    files: { 'tokenizer.json': 'bytelevel_bpe_bart.tokenizer.json' },
    written: { 'tokenizer_config.json': { tokenizer_class: 'BartTokenizer' } },
  });
  server.mount('/fixtures/text-json/', `${folder}/`);
  try {
    const result = await api.evaluate(
      async ([model, texts]) => {
        const translator = await wordloom.Translator.create({ model, device: 'cpu' });
        const read = await Promise.all(texts.map((text) => translator.tokenize(text)));
        const translation = await translator.translate('Where is the train station?', { attention: {} });
        const again = await translator.detokenize(translation.sentences[0]!.hypotheses[0]!.tokens.map(({ id }) => id));
        let last: string | undefined;
        for await (const { translation } of translator.translateStreaming('Where is the train station?')) last = translation?.text;
        const wrong = [];
        for (const ids of [[-1], [1.5], [900], 7]) wrong.push(await translator.detokenize(ids as never).catch(({ kind, message }) => `${kind}: ${message}`));
        translator.destroy();
        return { read: read.map(({ ids }) => ids), translation, again, last, wrong };
      },
      [`${server.url}/fixtures/text-json/`, items.map(({ text }) => text)] as const,
    );
    expect(result.read).toEqual(items.map(({ ids }) => ids));
    const [sentence] = result.translation.sentences;
    expect(sentence!.sourceTokens.map(({ piece }) => piece).join('')).toMatch(/^<s>Where/);
    expect(result.translation.attention!.shape[1]).toBe(sentence!.sourceTokens.length);
    expect(result.again.trim()).toBe(result.translation.text);
    expect(result.last).toBe(result.translation.text);
    const [negative, half, beyond, none] = result.wrong;
    expect(negative).toBe('input: ids[0] must be a whole number from 0 on, and is -1.');
    expect(half).toBe('input: ids[0] must be a whole number from 0 on, and is 1.5.');
    expect(beyond).toContain('token id 900');
    expect(none).toContain('input: ');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a document is one source, and too long a one is an error or cut', async ({ api, server }) => {
  const folder = await grown({
    model: 'led', // 64 positions for sources
    vocabulary: 900,
    files: { 'tokenizer.json': 'bytelevel_bpe_bart.tokenizer.json' },
    written: { 'tokenizer_config.json': { tokenizer_class: 'LEDTokenizer' } },
  });
  server.mount('/fixtures/document/', `${folder}/`);
  try {
    const result = await api.evaluate(async (model) => {
      const translator = await wordloom.Translator.create({ model, device: 'cpu' });
      const text = 'Where is the train station?\n\nI have lost my passport.';
      const cut = await translator.translate(text);
      const whole = await translator.summarize(text);
      const { ids } = await translator.tokenize(text);
      const long = text.repeat(8);
      const error = await translator.summarize(long).catch(({ kind, message }) => `${kind}: ${message}`);
      const wrong = await translator.translate(text, { document: 'x' as never }).catch(({ message }) => message);
      const truncated = await translator.summarize(long, { document: 'truncate', attention: {} });
      const all = await translator.tokenize(long);
      let last: string | undefined;
      for await (const { translation } of translator.translateStreaming(text, { document: true })) last = translation?.text;
      const { summarizes } = translator.info.model;
      translator.destroy();
      return { cut, whole, ids, error, wrong, truncated, all: all.ids.length, last, summarizes };
    }, `${server.url}/fixtures/document/`);
    expect(result.summarizes).toBe(true);
    expect(result.cut.sentences.length).toBe(2);
    expect(result.whole.sentences.length).toBe(1);
    expect(result.whole.sentences[0]!.sourceTokens.map(({ id }) => id)).toEqual(result.ids);
    expect(result.whole.leftOut).toBe(0);
    expect(result.last).toBe(result.whole.text);
    expect(result.error).toMatch(/^input: the document has \d+ tokens, but the model takes 64 at most; .*`document: "truncate"`/);
    expect(result.wrong).toContain('"document" is "x"');
    expect(result.truncated.sentences[0]!.sourceTokens.length).toBe(64);
    expect(result.truncated.leftOut).toBe(result.all - 64);
    expect(result.truncated.attention!.shape[1]).toBe(64);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('damage is named, and models with SentencePiece never ask for the module', async ({ api, server }) => {
  const open = (model: string) =>
    api.evaluate((model) => wordloom.Translator.create({ model, device: 'cpu', cache: 'none' }).then(() => 'opened', ({ kind, message }) => `${kind}: ${message}`), model);
  expect(await open(`${server.url}/model/`)).toBe('opened');
  expect(server.requests.filter(({ path }) => path.endsWith(MODULE))).toEqual([]);
  const folder = await grown(BART);
  server.mount('/fixtures/text-damaged/', `${folder}/`);
  const url = `${server.url}/fixtures/text-damaged/`;
  try {
    const merges = readFileSync(`${folder}/merges.txt`, 'utf8');
    writeFileSync(`${folder}/merges.txt`, merges.replace(/\n(\S+) (\S+)\n/, '\n$1$2\n'));
    expect(await open(url)).toMatch(/^input: .*merges\.txt: line 2 is not two tokens/);
    server.rules = [{ path: MODULE, status: 404 }];
    expect(await open(url)).toMatch(/^(input|network): /);
    server.rules = [];
    await rm(`${folder}/merges.txt`);
    expect(await open(url)).toMatch(/merges\.txt/);
    await rm(`${folder}/vocab.json`);
    expect(await open(url)).toBe('opened'); // for token ids
  } finally {
    await rm(folder, { recursive: true });
  }
});
