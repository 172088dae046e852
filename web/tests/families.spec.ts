/** Models of other families in a browser: ids, logits and attention against transformers; languages; sampling. */
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { expect, FIXTURES_FOLDER, test } from './support/harness.ts';
import { multilingual } from './support/multilingual.ts';
import { numbers, readTensors, rows } from './support/safetensors.ts';

interface Case {
  name: string;
  input: string;
  generate_kwargs: Record<string, number | boolean>;
  sequences: number[][];
  sequences_scores?: number[];
  step_logprobs?: number[][];
}

const tensorsOf = (model: string) => readTensors(`${FIXTURES_FOLDER}${model}/expected.safetensors`);

for (const [model, end] of [['gpt2', 399], ['t5_relu_tied', 1], ['mbart', 2]] as const) {
  test(`${model}: generates the stored ids, greedy and with beams`, async ({ api, server }) => {
    const { cases } = JSON.parse(readFileSync(`${FIXTURES_FOLDER}${model}/expected.json`, 'utf8')) as { cases: Case[] };
    const tensors = tensorsOf(model);
    for (const name of ['greedy', 'beam4_lp0.6_esTrue']) {
      const { input, generate_kwargs: wanted, ...expected } = cases.find((it) => it.name === name)!;
      const masks = rows(tensors.get(`${input}.attention_mask`)!);
      const ids = rows(tensors.get(`${input}.input_ids`)!);
      // Left padding counts as tokens.
      const padding = masks.map((mask) => (input === 'main_left' ? mask.indexOf(1) : 0));
      const requests = ids.map((row, at) => ({
        inputIds: row.filter((_, column) => masks[at]![column] === 1),
        beams: wanted['num_beams'] as number,
        nBest: (wanted['num_return_sequences'] as number | undefined) ?? 1,
        lengthPenalty: (wanted['length_penalty'] as number | undefined) ?? 1,
        earlyStopping: wanted['early_stopping'] === true,
        maxLength: (wanted['max_length'] as number) - padding[at]!,
      }));
      const results = await api.evaluate(
        async ([model, requests]) => {
          const translator = await wordloom.Translator.create({ model, device: 'cpu' });
          const results = await translator.generate(requests);
          translator.destroy();
          return results;
        },
        [`${server.url}/fixtures/${model}/`, requests] as const,
      );
      for (const [at, { sequences, scores, stepLogProbabilities }] of results.entries()) {
        const first = at * sequences.length;
        for (const [rank, sequence] of sequences.entries()) {
          const padded = expected.sequences[first + rank]!.slice(padding[at]);
          expect(sequence, `${name} ${at} ${rank}`).toEqual(padded.slice(0, sequence.length));
          expect(sequence.length === requests[at]!.maxLength || sequence.at(-1) === end).toBe(true);
          const score = expected.sequences_scores?.[first + rank];
          if (score !== undefined) expect(scores[rank]).toBeCloseTo(score, 3);
        }
        for (const [step, logprob] of (expected.step_logprobs?.[at] ?? []).entries()) {
          expect(stepLogProbabilities[0]![step]).toBeCloseTo(logprob, 3);
        }
      }
    }
  });
}

test('led: a request names its global tokens', async ({ api, server }) => {
  const { cases } = JSON.parse(readFileSync(`${FIXTURES_FOLDER}led/expected.json`, 'utf8')) as { cases: Case[] };
  const { sequences } = cases.find((it) => it.name === 'greedy_main_gthree')!;
  const tensors = tensorsOf('led');
  const input = (name: string) => rows(tensors.get(`main_gthree.${name}`)!);
  const forward = {
    inputIds: input('input_ids'),
    attentionMask: input('attention_mask'),
    globalAttentionMask: input('global_attention_mask'),
    decoderInputIds: input('decoder_input_ids'),
  };
  // padding is on the right
  const real = (row: number[], at: number) => row.filter((_, column) => forward.attentionMask[at]![column] === 1);
  const requests = forward.inputIds.map((row, at) => ({
    inputIds: real(row, at),
    globalAttentionMask: real(forward.globalAttentionMask[at]!, at),
    beams: 1,
    noRepeatNgramSize: 0,
    maxLength: 24,
  }));
  const result = await api.evaluate(
    async ([model, forward, requests]) => {
      const translator = await wordloom.Translator.create({ model, device: 'cpu' });
      const { logits } = await translator.forward(forward);
      const generated = await translator.generate(requests);
      const wrong = await Promise.all(
        [[1], [2, ...requests[0]!.globalAttentionMask.slice(1)]].map((globalAttentionMask) =>
          translator.generate({ ...requests[0]!, globalAttentionMask }).then(String, ({ kind, message }) => `${kind}: ${message}`),
        ),
      );
      translator.destroy();
      return { logits: [...logits.data], sequences: generated.map((it) => it.sequences[0]!), wrong };
    },
    [`${server.url}/fixtures/led/`, forward, requests] as const,
  );
  const logits = numbers(tensors.get('main_gthree.logits')!);
  expect(Math.max(...result.logits.map((value, at) => Math.abs(value - logits[at]!)))).toBeLessThan(1e-4);
  for (const [at, sequence] of result.sequences.entries()) {
    expect(sequence).toEqual(sequences[at]!.slice(0, sequence.length));
  }
  for (const message of result.wrong) expect(message).toContain('input: "globalAttentionMask" has to be');
});

for (const [model, kind] of [['bert', 'encoder'], ['gpt2', 'decoder']] as const) {
  test(`${model}: logits and attention of a forward pass, and what it cannot do`, async ({ api, server }) => {
    const tensors = tensorsOf(model);
    const input = (name: string) => rows(tensors.get(`main.${name}`)!);
    const mask = input('attention_mask');
    const result = await api.evaluate(
      async ([model, input, kind]) => {
        const translator = await wordloom.Translator.create({ model, device: 'cpu' });
        const forward = await translator.forward(input);
        // The first text, without its padding.
        const length = input.attentionMask[0]!.filter((seen) => seen === 1).length;
        const tokens = input.inputIds[0]!.slice(0, length).map((id) => ({ id, piece: '' }));
        const [sourceTokens, targetTokens] = kind === 'encoder' ? [tokens, []] : [[], tokens];
        const side = { sourceTokens, targetTokens };
        const map = await translator.attention({ ...side, layer: 1, head: 2 });
        const refused = (call: Promise<unknown>) =>
          call.then(() => 'done', ({ kind, message }) => `${kind}: ${message}`);
        const errors = [
          await refused(translator.translate('x')),
          await refused(translator.tokenize('x')),
          await refused(translator.attention({ ...side, kind: 'cross' })),
          await refused(translator.generate({ inputIds: [1, 2], maxNewTokens: 1 })),
        ];
        const plain = ({ shape, data }: { shape: number[]; data: Float32Array }) => ({ shape, data: [...data] });
        const { info } = translator;
        translator.destroy();
        const attentions = kind === 'encoder' ? forward.encoderAttentions : forward.decoderAttentions;
        return {
          logits: plain(forward.logits),
          attention: plain(attentions[1]!),
          map: { ...map, weights: [...map.weights] },
          errors,
          info,
        };
      },
      [
        `${server.url}/fixtures/${model}/`,
        {
          inputIds: input('input_ids'),
          attentionMask: mask,
          ...(tensors.has('main.token_type_ids') ? { tokenTypeIds: input('token_type_ids') } : {}),
        },
        kind,
      ] as const,
    );
    const logits = numbers(tensors.get('main.logits')!);
    const width = result.logits.shape.at(-1)!;
    const seen = mask.flat();
    const wrong = (value: number, at: number) => (seen[Math.floor(at / width)] === 1 ? Math.abs(value - logits[at]!) : 0);
    expect(result.logits.shape).toEqual(tensors.get('main.logits')!.shape);
    expect(Math.max(...result.logits.data.map(wrong))).toBeLessThan(1e-4);
    // [batch, heads, queries, keys]
    const attention = numbers(tensors.get('main.attentions.1')!);
    const longest = result.attention.shape.at(-1)!;
    expect(result.attention.shape).toEqual(tensors.get('main.attentions.1')!.shape);
    const [queries, keys] = result.map.shape;
    expect(result.map.kind).toBe(kind);
    expect(keys).toBeGreaterThan(2);
    let furthest = 0;
    for (let query = 0; query < queries; query++) {
      for (let key = 0; key < keys; key++) {
        const stored = attention[(2 * longest + query) * longest + key]!;
        furthest = Math.max(furthest, Math.abs(result.map.weights[query * keys + key]! - stored));
        furthest = Math.max(furthest, Math.abs(result.attention.data[(2 * longest + query) * longest + key]! - stored));
      }
    }
    expect(furthest).toBeLessThan(1e-4);
    expect(result.info.model).toMatchObject({
      architecture: `${kind}-only`,
      languages: { source: [], target: [], pairs: null },
      idsOnly: expect.stringContaining(`${model}" model does not translate`),
    });
    const [translate, tokenize, cross, generate] = result.errors;
    expect(translate).toMatch(/^unsupported: cannot translate: .*`forward`/);
    expect(tokenize).toMatch(/^unsupported: cannot read text: .*`generate`/);
    expect(cross).toContain(`only ${kind} attention`);
    expect(generate).toMatch(model === 'bert' ? /^input: .*no decoder/ : /^done$/);
  });
}

test('sampling: a seed gives the same again, and one that was drawn is told', async ({ api, server }) => {
  const result = await api.evaluate(async (model) => {
    const translator = await wordloom.Translator.create({ model, device: 'cpu' });
    const how = { sample: true, temperature: 1.5, topK: 20, topP: 0.9 };
    const request = { inputIds: [5, 6, 7], ...how, nBest: 3, maxNewTokens: 8 };
    const run = async (more: object) => (await translator.generate({ ...request, ...more }))[0]!;
    const drawn = await run({});
    const redrawn = await run({ seed: drawn.seed });
    const results = { seven: await run({ seed: 7 }), again: await run({ seed: 7 }), drawn, redrawn };
    const [greedy] = await translator.generate({ inputIds: request.inputIds, maxNewTokens: 8, sample: false });
    const error = await run({ beams: 2 }).catch(({ message }) => message);
    translator.destroy();
    return { ...results, greedy, error, byDefault: translator.info.defaults.sample };
  }, `${server.url}/fixtures/gpt2/`);
  const { seven, again, drawn, redrawn, greedy } = result;
  expect(seven.seed).toBe(7);
  expect(again).toEqual(seven);
  expect(drawn.seed).toBeGreaterThanOrEqual(0);
  expect(redrawn).toEqual(drawn);
  expect(new Set(seven.sequences.map(String)).size).toBeGreaterThan(1);
  expect(greedy!.seed).toBeUndefined();
  expect(result.byDefault).toBe(false);
  expect(result.error).toContain('"beams" is 2; it must be 1 with sample');
});

test('languages of a text and of its translation', async ({ api, server }) => {
  const { mbart } = JSON.parse(readFileSync(`${FIXTURES_FOLDER}../tokenizers/pieces.expected.json`, 'utf8')) as {
    mbart: { items: { text: string; source_language: string; ids: number[] }[]; languages: Record<string, number> };
  };
  const item = mbart.items.find(({ text, source_language }) => source_language === 'de_DE' && /^\w+[^.!?]*\w$/.test(text))!;
  const folder = await multilingual();
  server.mount('/fixtures/multilingual/', `${folder}/`);
  try {
    const result = await api.evaluate(
      async ([model, text]) => {
        const translator = await wordloom.Translator.create({ model, device: 'cpu' });
        const from = (sourceLanguage: string, targetLanguage: string) => ({ sourceLanguage, targetLanguage, attention: {} });
        const french = await translator.translate(text, from('de_DE', 'fr_XX'));
        const errors = [];
        for (const options of [{}, { targetLanguage: 'de_AT' }, { sourceLanguage: 'xx_XX', targetLanguage: 'de_DE' }]) {
          errors.push(await translator.translate(text, options).catch(({ kind, message }) => `${kind}: ${message}`));
        }
        const { info } = translator;
        translator.destroy();
        return { french, errors, info };
      },
      [`${server.url}/fixtures/multilingual/`, item.text] as const,
    );
    const [sentence] = result.french.sentences;
    expect(sentence!.sourceTokens.map(({ id }) => id)).toEqual(item.ids);
    expect(sentence!.sourceTokens.at(-1)!.piece).toBe('de_DE');
    expect(sentence!.hypotheses[0]!.tokens[0]).toMatchObject({ id: mbart.languages['fr_XX'], piece: 'fr_XX' });
    expect(result.french.attention!.shape[1]).toBe(item.ids.length);
    const codes = Object.keys(mbart.languages);
    expect(result.info.model.languages).toEqual({ source: codes, target: codes, pairs: null });
    expect(result.info.model).toMatchObject({ architecture: 'encoder-decoder', idsOnly: null });
    expect(result.info.defaults).toMatchObject({ sourceLanguage: 'en_XX', targetLanguage: null });
    for (const error of result.errors) expect(error).toMatch(/^input: /);
    expect(result.errors[0]).toContain('`targetLanguage`');
    expect(result.errors[1]).toContain('near it: de_DE (German)');
    // Only the one tokenizer file of this family is requested.
    const asked = server.requestsFor('/multilingual/').map(({ path }) => path.split('/').at(-1));
    expect(asked.filter((name) => /spm|spiece|bpe|vocab/.test(name!))).toEqual(['sentencepiece.bpe.model']);
  } finally {
    await rm(folder, { recursive: true });
  }
});
