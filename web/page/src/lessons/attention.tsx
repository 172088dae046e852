/** Lessons about one attention: query, key and value; the scale; the mask; the heads. */
import { headName } from '../attention/labels.ts';
import { largest, shareOf, written } from '../microscope/numbers.ts';
import { t, tx } from '../texts/texts.ts';
import { softmax, valuesOf } from './arithmetic.ts';
import { explain, middle } from './lesson.ts';
import type { Ask } from './lesson.ts';

const CHOICES = 5;

const bold = (text: string) => (
  <b>
    <bdi>{text}</bdi>
  </b>
);

export const queryKeyValue: Ask = async (given) => {
  const found = await explain(given, 'cross', middle(given));
  const weights = valuesOf(found, 'softmax', 'weights');
  const products = valuesOf(found, 'products', 'q·k');
  const best = largest(weights);
  // the right one among its neighbours, in the order of the sentence
  const first = Math.max(0, Math.min(best - 2, found.keys.length - CHOICES));
  const keys = found.keys.slice(first, first + CHOICES);
  const where = headName(found.head.layer, found.head.head);
  return [
    {
      asks: tx('The decoder is about to write {word}. In cross-attention ({where}), which token of your sentence has the key that fits its query best?', {
        word: bold(found.produces?.label ?? ''),
        where,
      }),
      choices: keys.map(({ label }) => label),
      right: best - first,
      says: tx('{key} has the largest q·k, so it gets the largest weight: {share}. Its value makes up that share of what the head passes on. The key decides how much is taken; the value is what is taken.', {
        key: bold(found.keys[best]?.label ?? ''),
        share: shareOf(weights[best] ?? 0),
      }),
      table: {
        name: t('Scores and weights of each key'),
        columns: [t('key'), 'q·k', t('weight')],
        rows: found.keys.map(({ label }, at) => [label, written(products[at] ?? 0), written(weights[at] ?? 0)]),
      },
    },
  ];
};

export const scale: Ask = async (given) => {
  const found = await explain(given, 'cross', middle(given));
  const products = valuesOf(found, 'products', 'q·k');
  const scores = valuesOf(found, 'scale', 'scores');
  const { dK, heads, dModel } = found.sizes;
  const at = largest(products.map(Math.abs));
  const divisor = (products[at] ?? 0) / (scores[at] ?? 1);
  const divisors = [Math.sqrt(heads), Math.sqrt(dK), Math.sqrt(dModel), 1];
  const names = [`√h = √${heads}`, `√d_k = √${dK}`, `√d_model = √${dModel}`, t('by nothing')];
  const off = divisors.map((one) => Math.abs(one - divisor));
  const [sharp, soft] = [softmax(products), softmax(scores)];
  return [
    {
      asks: t('Before the softmax, this head divides every q·k by one number. Which one?'),
      choices: names,
      right: off.indexOf(Math.min(...off)),
      says: t('Measured here: {product} became {score}, so the divisor is {divisor}. A sum of d_k products has a variance that grows with d_k; the number of heads plays no part. Without the division, the largest weight of this row would be {sharp} and not {soft}.', {
        product: written(products[at] ?? 0),
        score: written(scores[at] ?? 0),
        divisor: divisor.toFixed(3),
        sharp: shareOf(Math.max(...sharp)),
        soft: shareOf(Math.max(...soft)),
      }),
      table: {
        name: t('Weights with and without the division'),
        columns: [t('key'), 'q·k', t('scaled'), t('weight'), t('weight, undivided')],
        rows: found.keys.map(({ label }, key) => [
          label,
          written(products[key] ?? 0),
          written(scores[key] ?? 0),
          written(soft[key] ?? 0),
          written(sharp[key] ?? 0),
        ]),
      },
    },
  ];
};

export const mask: Ask = async (given) => {
  const row = middle(given);
  const { engine, source, hypothesis, signal } = given;
  const found = await explain(given, 'decoder', row);
  const masked = valuesOf(found, 'mask', 'masked');
  const scores = valuesOf(found, 'scale', 'scores');
  const weights = valuesOf(found, 'softmax', 'weights');

  // the same sentence with three tokens of padding, hidden and not hidden
  const PADDING = 3;
  const start = hypothesis.tokens[0]?.id ?? 0;
  const ids = [...source.sourceTokens.map(({ id }) => id), ...Array<number>(PADDING).fill(start)];
  const own = source.sourceTokens.length;
  const pass = (attentionMask: number[]) =>
    engine.translator.forward({ inputIds: [ids], attentionMask: [attentionMask], decoderInputIds: [[start]] }, { signal });
  const [hidden, open] = await Promise.all([
    pass(ids.map((_, at) => (at < own ? 1 : 0))),
    pass(ids.map(() => 1)),
  ]);
  /** Weight of the first row of the first layer's first head on padding. */
  const onPadding = ({ encoderAttentions: [layer] }: typeof open): number =>
    [...(layer?.data.subarray(own, own + PADDING) ?? [])].reduce((sum, weight) => sum + weight, 0);
  const shut = onPadding(hidden);
  return [
    {
      asks: t('While the decoder learns, the whole translation lies in front of it. What does the mask do to the scores of later tokens?'),
      choices: [t('It multiplies them by 0'), t('It adds −∞ to them'), t('It removes their values after the softmax')],
      right: masked.some((score) => score === -Infinity) ? 1 : 0,
      says: t('The mask is added before the softmax: e to the power of −∞ is exactly 0, and the other weights still add up to 1. A score multiplied by 0 would be 0, and e to the power of 0 is 1: the hidden token would be seen.'),
      table: {
        name: t('Scores before and after the mask'),
        columns: [t('key'), t('scaled'), t('masked'), t('weight')],
        rows: found.keys.map(({ label }, key) => [
          label,
          written(scores[key] ?? 0),
          written(masked[key] ?? 0),
          written(weights[key] ?? 0),
        ]),
      },
    },
    {
      asks: t('“The encoder has no mask.” Is that right?'),
      choices: [t('Yes: each token sees everything'), t('No: it hides later tokens'), t('No: it hides padding')],
      right: shut === 0 ? 2 : 0,
      says: t('Sentences of a batch are filled up to the same length. With {count} tokens of padding after your sentence, the first token gives them {shut} of its weight with the mask, and {open} without it. The encoder hides no later tokens, but it does hide padding.', {
        count: PADDING,
        shut: shareOf(shut),
        open: shareOf(onPadding(open)),
      }),
    },
  ];
};

export const heads: Ask = async (given) => {
  const { engine, source, hypothesis, signal } = given;
  const row = middle(given);
  const read = hypothesis.tokens.slice(0, -1).map(({ id }) => id);
  const output = await engine.translator.forward(
    { inputIds: [source.sourceTokens.map(({ id }) => id)], decoderInputIds: [read] },
    { signal },
  );
  const layer = output.crossAttentions.at(-1);
  const found = await explain(given, 'cross', row);
  const [, count = 0, queries = 0, keys = 0] = layer?.shape ?? [];
  const favourites = Array.from({ length: count }, (_, head) => {
    const weights = layer!.data.subarray((head * queries + row) * keys, (head * queries + row + 1) * keys);
    const at = largest(weights);
    return { at, weight: weights[at] ?? 0 };
  });
  const different = new Set(favourites.map(({ at }) => at)).size;
  const half = Math.ceil(count / 2);
  return [
    {
      asks: tx('The last layer has {count} heads of cross-attention. About to write {word}, do they all look at the same token of your sentence?', {
        count,
        word: bold(found.produces?.label ?? ''),
      }),
      choices: [
        t('Yes, all at the same one'),
        t('At 2 to {half} different ones', { half }),
        t('At more than {half} different ones', { half }),
      ],
      right: different === 1 ? 0 : different <= half ? 1 : 2,
      says: t('They have {different} different favourites. Each head has its own W_Q, W_K and W_V, so each can look for something else. Their results are put side by side, and W^O mixes them.', { different }),
      table: {
        name: t('The favourite of each head'),
        columns: [t('Head'), t('key'), t('weight')],
        rows: favourites.map(({ at, weight }, head) => [String(head + 1), found.keys[at]?.label ?? '', written(weight)]),
      },
    },
  ];
};
