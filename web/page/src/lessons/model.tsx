/** Lessons about the whole model: positions; residual and norm; encoder, decoder and cross-attention; the search. */
import type { Translation } from 'wordloom';

import { lengthOf, written } from '../microscope/numbers.ts';
import { t, tx } from '../texts/texts.ts';
import { direction, languageOptions } from '../translation/direction.ts';
import { cosine, mean, valuesOf, variance } from './arithmetic.ts';
import { explain, middle } from './lesson.ts';
import type { Ask, Given } from './lesson.ts';

/** Runs calls with other switches. The engine runs calls in order, so no call of the page comes between. */
function switchedOff<T>({ engine: { translator } }: Given, switches: string, work: () => Promise<T>): Promise<T> {
  const before = translator.switches;
  const changed = translator.setSwitches([before, switches].filter((words) => words !== '').join());
  const result = work();
  const back = translator.setSwitches(before);
  return Promise.all([changed, result, back]).then(([, found]) => found);
}

export const positions: Ask = async (given) => {
  const { engine, source, hypothesis, signal } = given;
  const ids = source.sourceTokens.map(({ id }) => id);
  const start = hypothesis.tokens[0]?.id ?? 0;
  const backwards = [...ids].reverse();
  const encode = async (inputIds: number[]) =>
    (await engine.translator.forward({ inputIds: [inputIds], decoderInputIds: [[start]] }, { signal })).encoderLastHiddenState;
  /** Mean over tokens of the distance between a token's states in both orders. */
  const moved = ([one, other]: Awaited<ReturnType<typeof encode>>[]): number => {
    const width = one!.shape[2]!;
    const count = ids.length;
    return mean(
      ids.map((_, at) => {
        const here = one!.data.subarray(at * width, (at + 1) * width);
        const there = other!.data.subarray((count - 1 - at) * width, (count - at) * width);
        return lengthOf(here.map((value, place) => value - there[place]!));
      }),
    );
  };
  const both = () => Promise.all([encode(ids), encode(backwards)]);
  const trained = moved(await both());
  const without = moved(await switchedOff(given, 'positions=off', both));
  return [
    {
      asks: t('Positions are switched off, and the tokens of your sentence come in reverse order. What happens to the vector that the encoder makes of each token?'),
      choices: [t('It becomes a different one'), t('It stays the same'), t('It becomes zero')],
      right: without < 0.05 * trained ? 1 : 0,
      says: t('With positions, reversing moves each vector by {trained} on average; without them, by {without}: only rounding is left. Attention is a sum over tokens, and a sum has no order. Order comes from the positions alone.', {
        trained: trained.toFixed(3),
        without: without.toExponential(1).replace('-', '−'),
      }),
    },
  ];
};

export const residual: Ask = async (given) => {
  const found = await explain(given, 'encoder', Math.min(1, given.source.sourceTokens.length - 1));
  const sum = valuesOf(found, 'residual', 'sum');
  const added = valuesOf(found, 'output', 'output');
  const read = sum.map((value, at) => value - (added[at] ?? 0));
  const [ofRead, ofAdded] = [lengthOf(read), lengthOf(added)];
  const after = found.steps.find(({ kind }) => kind === 'norm-after' || kind === 'norm-before');
  const of = (name: string): Float32Array | undefined => after?.numbers.find((numbers) => numbers.name === name)?.values;
  const [factors, shifts, normed] = [of('scale'), of('shift'), of('output')];
  const plain = [...(normed ?? [])].map((value, at) => (value - (shifts?.[at] ?? 0)) / (factors?.[at] ?? 1));
  const questions = [
    {
      asks: tx('For {word}, the last encoder layer’s attention adds its output to what it has read. Which vector is longer?', {
        word: (
          <b>
            <bdi>{found.query.label}</bdi>
          </b>
        ),
      }),
      choices: [t('What the block has read'), t('What the block adds')],
      right: ofRead >= ofAdded ? 0 : 1,
      says: t('It has read a vector of length {read} and adds one of length {added}. The cosine between what it has read and the sum is {cosine}; 1 would be the same direction. A block adds to what is there, it does not replace it.', {
        read: written(ofRead),
        added: written(ofAdded),
        cosine: cosine(read, sum).toFixed(3),
      }),
    },
  ];
  // an RMS norm has no mean to look at
  if (of('mean') === undefined) return questions;
  return [
    ...questions,
    {
      asks: t('Over what does the norm take its mean and variance?'),
      choices: [
        t('Over the values of one token'),
        t('Over all tokens of the sentence, for each value'),
        t('Over all sentences of the batch'),
      ],
      right: Math.abs(mean(plain)) < 0.01 && Math.abs(variance(plain) - 1) < 0.05 ? 0 : 1,
      says: t('The {count} values of this one token had mean {before} and variance {spread}. Before scale and shift, the norm made of them mean {mean} and variance {variance}: no other token and no other sentence was needed.', {
        count: plain.length,
        before: written(of('mean')?.[0] ?? 0),
        spread: written(of('variance')?.[0] ?? 0),
        mean: Number(mean(plain).toFixed(3)).toFixed(3).replace('-', '−'), // 0.000 has no sign
        variance: variance(plain).toFixed(3),
      }),
    },
  ];
};

function translate({ engine, source, signal }: Given, beams: number): Promise<Translation> {
  return engine.translator.translate(source.source, { beams, signal, ...languageOptions(direction.peek()) });
}

export const cross: Ask = async (given) => {
  const row = middle(given);
  const found = await explain(given, 'cross', row);
  const written = given.hypothesis.tokens[row + 2]?.piece.replace(/^▁/u, '').replace('</s>', t('end')) ?? '';
  const own = (await translate(given, 1)).text;
  const blind = (await switchedOff(given, 'cross=off', () => translate(given, 1))).text;
  const said = blind.trim() === '' ? t('nothing') : `“${blind}”`;
  const [read, now] = [found.query.label, found.produces?.label ?? ''];
  return [
    {
      asks: t('Cross-attention is switched off in every layer of the decoder. What does the decoder write?'),
      choices: [t('The same translation'), t('Words that have nothing to do with your sentence'), t('Nothing at all')],
      right: blind === own ? 0 : blind.trim() === '' ? 2 : 1,
      says: tx('It writes {said} and not {own}. Cross-attention is the only way from the source to the decoder: its queries come from the decoder, its keys and values from the output of the encoder.', {
        said: <bdi>{said}</bdi>,
        own: <bdi>“{own}”</bdi>,
      }),
    },
    {
      asks: tx('At the position where the decoder is about to write {word}, which token does it read?', {
        word: (
          <b>
            <bdi>{now}</bdi>
          </b>
        ),
      }),
      choices: [t('{token}: the same one', { token: now }), t('{token}: the one before', { token: read }), t('{token}: the one after', { token: written })],
      right: found.query.position < (found.produces?.position ?? 0) ? 1 : 0,
      says: t('Position {read} of the input is answered by position {written} of the labels: the labels are the input shifted by one. If input and label were the same token, the model would learn to copy it.', {
        read: found.query.position,
        written: found.produces?.position ?? 0,
      }),
    },
  ];
};

export const search: Ask = async (given) => {
  const [greedy, beams] = await Promise.all([translate(given, 1), translate(given, 4)]);
  const scoreOf = ({ sentences }: Translation): number =>
    mean(
      sentences.map(({ hypotheses: [best] }) =>
        (best?.tokens ?? []).reduce((sum, { logProbability }) => sum + (logProbability ?? 0), 0),
      ),
    );
  const [one, four] = [scoreOf(greedy), scoreOf(beams)];
  const same = greedy.text === beams.text;
  return [
    {
      asks: t('Greedy search always takes the most probable next token. Beam search follows 4 beginnings at once. Do both find the same translation of your sentence?'),
      choices: [t('Yes, the same'), t('No: beam search finds a more probable one'), t('No: greedy search finds a more probable one')],
      right: same ? 0 : four >= one ? 1 : 2,
      says: same
        ? t('Here the most probable first steps also lead to the best end that 4 beams find. Try a longer sentence.')
        : t('The log-probabilities differ, as the table shows: the best first step need not lead to the best end. Scores are divided by a power of the length, so the winner need not have the largest sum.'),
      table: {
        name: t('Translations of both searches'),
        columns: [t('Search'), t('Translation'), t('Sum of log-probabilities')],
        rows: [
          [t('Greedy'), greedy.text, written(one)],
          [t('4 beams'), beams.text, written(four)],
        ],
      },
    },
  ];
};
