/** The stored translations of the bundled model, id by id, on the CPU and on WebGPU. */
import { readFileSync } from 'node:fs';
import { expect, BUNDLED_MODEL, test } from './support/harness.ts';

interface Case {
  source: string;
  source_ids: number[];
  greedy_ids: number[];
  beam_ids: number[];
  beam_text: string;
  beam_score: number;
}

const { cases: all } = JSON.parse(readFileSync(`${BUNDLED_MODEL}expected.json`, 'utf8')) as { cases: Case[] };

// On the software adapter every third; natively it translates all.
for (const [device, cases] of [['cpu', all], ['gpu', all.filter((_, index) => index % 3 === 0)]] as const) {
  test(`stored translations, greedy and with 4 beams, on the ${device}`, async ({ api }) => {
    test.setTimeout(300_000);
    const sources = cases.map(({ source, source_ids }) => ({ source, inputIds: source_ids }));
    const result = await api.evaluate(
      async ([sources, device]) => {
        const translator = await wordloom.Translator.create({ device });
        const search = async (beams: number) => {
          const generated = await translator.generate(sources.map(({ inputIds }) => ({ inputIds, beams })));
            return { ids: generated.map((it) => it.sequences[0]), scores: generated.map((it) => it.scores[0]!), texts };
        };
        const tokenized = [];
        const texts: (string | undefined)[] = [];
        for (const { source } of sources) {
          tokenized.push((await translator.tokenize(source)).ids);
          const { text, sentences } = await translator.translate(source);
          // The stored results are of whole texts; a text that is cut into sentences may differ.
          texts.push(sentences.length === 1 && source === source.trim() ? text : undefined);
        }
        const results = { info: translator.info, tokenized, texts, greedy: await search(1), beam: await search(4) };
        translator.destroy();
        return results;
      },
      [sources, device] as const,
    );
    expect(result.info.device.kind).toBe(device);
    expect(result.tokenized).toEqual(cases.map((it) => it.source_ids));
    expect(result.greedy.ids).toEqual(cases.map((it) => it.greedy_ids));
    expect(result.beam.ids).toEqual(cases.map((it) => it.beam_ids));
    const whole = cases.filter((_, index) => result.texts[index] !== undefined);
    expect(whole.length).toBeGreaterThan(cases.length * 0.75);
    // where the model loses bytes of an emoji, the translation has that of the source
    const wanted = whole.map((it) => it.beam_text.replace(/\uFFFD+/, '😀'));
    expect(result.texts.filter((text) => text !== undefined)).toEqual(wanted);
    for (const [index, { beam_score }] of cases.entries()) {
      expect(result.beam.scores[index]).toBeCloseTo(beam_score, 4);
    }
  });
}
