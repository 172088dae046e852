/** Attention weights with their tokens. */
import { areTokens, MAP_CHOICE, onlyKnown } from './check-input.js';
import { WordloomError } from './errors.js';
import type { AttentionInput, AttentionMap, EngineInfo, Token, TranslateOptions, Translation } from './types.js';
import type { Abort, Engine } from './wordloom_web.js';

type Architecture = EngineInfo['model']['architecture'];

const KINDS = { 'encoder-decoder': 'cross', 'encoder-only': 'encoder', 'decoder-only': 'decoder' } as const;

export async function attentionMap(
  engine: Engine,
  input: AttentionInput,
  abort: Abort,
  architecture: Architecture = 'encoder-decoder',
): Promise<AttentionMap> {
  const { sourceTokens, targetTokens, ...which } = input ?? {};
  const { kind, layer, head } = { kind: which.kind ?? KINDS[architecture], layer: which.layer ?? 'mean', head: which.head ?? 'mean' };
  if (!areTokens(sourceTokens) || !areTokens(targetTokens)) {
    throw new WordloomError('input', 'sourceTokens and targetTokens must be the tokens of a translated sentence.');
  }
  // Row i reads token i and predicts token i + 1, so the last token has no row.
  const read = targetTokens.slice(0, -1);
  const sourceIds = sourceTokens.map((token) => token.id);
  const targetIds = read.map((token) => token.id);
  const { shape, weights } = await engine.attention({ kind, layer, head, sourceIds, targetIds }, abort);
  const written = targetTokens.slice(1);
  const queries: readonly Token[] = kind === 'encoder' ? sourceTokens : written;
  const keys: readonly Token[] = kind === 'decoder' ? read : sourceTokens;
  return { kind, layer, head, shape, weights, queries: [...queries], keys: [...keys] };
}

/** The attention of a translation's best hypothesis; undefined without a sentence. */
export async function attentionOf(
  engine: Engine,
  translation: Translation,
  which: NonNullable<TranslateOptions['attention']>,
  abort: Abort,
): Promise<AttentionMap | undefined> {
  onlyKnown('attention', which, MAP_CHOICE);
  const { sentence, ...rest } = which;
  const index = sentence ?? 0;
  const found = translation.sentences[index];
  if (!found) {
    if (index === 0) return undefined;
    throw new WordloomError('input', `attention.sentence is ${index}; they count from 0, and the text has ${translation.sentences.length}.`);
  }
  const targetTokens = found.hypotheses[0]?.tokens ?? [];
  return attentionMap(engine, { sourceTokens: found.sourceTokens, targetTokens, ...rest }, abort);
}
