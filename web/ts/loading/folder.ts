import type { EngineInfo } from '../types.js';
import type { HostFolder } from '../wordloom_web.js';

/** A model's folder whose weights may still be downloading. */
export interface OpenFolder {
  host: HostFolder;
  /** Resolves when every file has arrived and is checked; rejects with the first failure. */
  complete: Promise<void>;
  /** The failure of a download, if any. It says more than the engine's failed read. */
  failure(): unknown;
  /** Stores what the model is, for lists of stored models. Never rejects. */
  loaded?(model: EngineInfo['model']): Promise<void>;
  /** After `close`: removes the stored file that the engine calls damaged. False if it is not stored. */
  forget?(damaged: string): Promise<boolean>;
  /** Stops downloads and closes files. */
  close(): void;
}

/** The names of weights: in one file, or in shards that an index lists. The first that exist win, as in the engine. */
export const WEIGHTS = [
  { single: 'model.safetensors', index: 'model.safetensors.index.json' },
  { single: 'pytorch_model.bin', index: 'pytorch_model.bin.index.json' },
] as const;

/** The files of a checkpoint that an index lists, in order. */
export function shardsOf(index: Uint8Array): string[] {
  const map = (parseJson(index) as { weight_map?: unknown } | undefined)?.weight_map;
  if (typeof map !== 'object' || map === null) return [];
  const names = new Set(Object.values(map).filter((name) => typeof name === 'string'));
  // A name outside the folder is left out: the engine then reports it as missing.
  return [...names].filter((name) => /^[\w.-]+$/.test(name) && !name.startsWith('.')).sort();
}

/** The files of a Firefox student among these names: its weights, best first as in the engine, and the others. Undefined for other models. */
export function studentFiles(names: readonly string[]): { weights: string; small: string[] } | undefined {
  if (names.includes('config.json')) return undefined;
  const ends = ['.intgemm.alphas.bin', '.intgemm8.bin', '.bin'];
  const weights = ends.map((end) => names.find((name) => name.startsWith('model.') && name.endsWith(end))).find(Boolean);
  const small = names.filter((name) => /^(?:(?:src|trg)?vocab\..*spm|lex.*\.bin|generation_config\.json)$/.test(name));
  return weights === undefined ? undefined : { weights, small };
}

/** Whether source and target have separate vocabularies, by `tokenizer_config.json`. */
export function hasTargetVocabulary(tokenizerConfig: Uint8Array | undefined): boolean {
  const config = tokenizerConfig && (parseJson(tokenizerConfig) as { separate_vocabs?: unknown } | undefined);
  return config?.separate_vocabs === true;
}

/** Source and target language, by `tokenizer_config.json` of a Marian model, or by the name of a student's weights: `model.ende.…`. */
export function pairOf(tokenizerConfig: Uint8Array | undefined, student?: string): [string, string] | null {
  const named = /^model\.([a-z]{2})([a-z]{2})\./.exec(student ?? '');
  if (named) return [named[1]!, named[2]!];
  const config = tokenizerConfig && (parseJson(tokenizerConfig) as Json);
  const codes = [config?.['source_lang'], config?.['target_lang']];
  return codes.every((code) => typeof code === 'string' && /^[A-Za-z]{2,3}([_-]\w{2,8})*$/.test(code))
    ? (codes as [string, string])
    : null;
}

/** `model_type` of a `config.json`. */
export function familyOf(config: Uint8Array | undefined): string | undefined {
  const family = config && (parseJson(config) as Json)?.['model_type'];
  return typeof family === 'string' ? family : undefined;
}

/** Families whose models are of no use in a page without their tokenizers. */
export const WITH_TEXT =
  ['bart', 'bigbird_pegasus', 'led', 'longt5', 'marian', 'mbart', 'm2m_100', 'mt5', 'pegasus', 't5', 'umt5'];
/** Models that do not translate: a tokenizer is read if there is one. */
export const WITHOUT_TRANSLATION = ['bert', 'distilbert', 'gpt2', 'roberta', 'xlm-roberta'];

/** Lists of a tokenizer's files. The first list that is complete is read. */
export type TextFiles = readonly (readonly string[])[];

const MARIAN = ['source.spm', 'target.spm', 'vocab.json'];
const JSON_FILE = ['tokenizer.json'];
const BYTE_PAIRS: TextFiles = [JSON_FILE, ['vocab.json', 'merges.txt']];
const PIECES: TextFiles = [['spiece.model'], JSON_FILE];
const BPE_PIECES: TextFiles = [['sentencepiece.bpe.model'], JSON_FILE];
const WORD_PIECES: TextFiles = [JSON_FILE, ['vocab.txt']];
/** Files by tokenizer class. SentencePiece models come first, because the engine reads them without another module. */
const FILES = new Map<string, TextFiles>([
  ['MarianTokenizer', [MARIAN]],
  ['T5Tokenizer', PIECES],
  ['MT5Tokenizer', PIECES],
  // bytes are tokens: it has no files
  ['ByT5Tokenizer', [[]]],
  ['PegasusTokenizer', PIECES],
  ['MBartTokenizer', BPE_PIECES],
  ['MBart50Tokenizer', BPE_PIECES],
  ['NllbTokenizer', BPE_PIECES],
  ['M2M100Tokenizer', [['sentencepiece.bpe.model', 'vocab.json']]],
  ['GPT2Tokenizer', BYTE_PAIRS],
  ['RobertaTokenizer', BYTE_PAIRS],
  ['BartTokenizer', BYTE_PAIRS],
  ['LEDTokenizer', BYTE_PAIRS],
  ['LongformerTokenizer', BYTE_PAIRS],
  ['BertTokenizer', WORD_PIECES],
  ['DistilBertTokenizer', WORD_PIECES],
]);
/** Files by `model_type`, for models without a class. */
const BY_TYPE = new Map<string, TextFiles>([
  ['marian', [MARIAN]],
  ['t5', PIECES],
  ['longt5', PIECES],
  ['mt5', PIECES],
  ['umt5', PIECES],
  ['pegasus', PIECES],
  ['bigbird_pegasus', PIECES],
  ['mbart', BPE_PIECES],
  ['m2m_100', [['sentencepiece.bpe.model', 'vocab.json']]],
  ['gpt2', BYTE_PAIRS],
  ['bart', BYTE_PAIRS],
  ['led', BYTE_PAIRS],
  ['roberta', BYTE_PAIRS],
  ['bert', WORD_PIECES],
  ['distilbert', WORD_PIECES],
  ['xlm-roberta', [JSON_FILE]],
]);
/** Any other model may have Marian's files. */
const ANY: TextFiles = [MARIAN, JSON_FILE];

/** The files that a model needs for text, by `config.json` and `tokenizer_config.json`, as in the engine. */
export function textFiles(config: Uint8Array | undefined, tokenizerConfig: Uint8Array | undefined): TextFiles {
  const [model, tokenizer] = [config, tokenizerConfig].map((bytes) => (bytes ? (parseJson(bytes) as Json) : undefined));
  const name = [tokenizer, model].map((json) => json?.['tokenizer_class']).find((name) => typeof name === 'string');
  const ofClass = FILES.get(String(name).replace(/Fast$/, ''));
  if (ofClass) return ofClass;
  const ofType = BY_TYPE.get(String(model?.['model_type'])) ?? ANY;
  // Under a generic class, `tokenizer.json` decides everything, but for these families.
  return name === undefined || ofType === PIECES ? ofType : [JSON_FILE, ...ofType];
}

/** Files that older tokenizers have besides, by `tokenizer_config.json`. */
export function olderFiles(tokenizerConfig: Uint8Array | undefined): string[] {
  const config = tokenizerConfig && (parseJson(tokenizerConfig) as Json);
  return config?.['added_tokens_decoder'] === undefined ? ['special_tokens_map.json', 'added_tokens.json'] : [];
}

/** Whether Hugging Face's library reads these files of a tokenizer. */
export function isFast(files: readonly string[]): boolean {
  return files === JSON_FILE || files[1] === 'merges.txt' || files[0] === 'vocab.txt';
}

/** The files that a page would download of a repository, by the names of its files and its family. */
export function chosenFiles(names: readonly string[], family: string | null): string[] {
  const lists = BY_TYPE.get(String(family)) ?? ANY;
  const text = lists.find((list) => list.every((name) => names.includes(name))) ?? [];
  const small = ['config.json', 'generation_config.json', 'tokenizer_config.json', ...text];
  const weights = WEIGHTS.map(({ single, index }) => {
    if (names.includes(single)) return [single];
    const [stem, end] = [single.replace(/\..*/, ''), single.replace(/.*\./, '')];
    const shard = new RegExp(`^${stem}-\\d+-of-\\d+\\.${end}$`);
    return names.includes(index) ? [index, ...names.filter((name) => shard.test(name))] : [];
  });
  return [...small.filter((name) => names.includes(name)), ...(weights.find((list) => list.length > 0) ?? [])];
}

type Json = Record<string, unknown> | undefined;

/** Undefined if it is not JSON: the engine reads the same bytes and reports the error. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) ?? undefined;
  } catch {
    return undefined;
  }
}
