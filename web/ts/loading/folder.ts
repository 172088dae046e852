import type { EngineInfo } from '../types.js';
import type { HostFolder } from '../wordloom_web.js';

/** A model's folder whose weights may still be downloading. */
export interface OpenFolder {
  host: HostFolder;
  /** Resolves when every file has arrived and is checked; rejects with the first failure. */
  complete: Promise<void>;
  /** The failure of a download, if any. It says more than the engine's failed read. */
  failure(): unknown;
  /** Stores what the model is, for lists of stored models. */
  loaded?(model: EngineInfo['model']): void;
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

/** Whether source and target have separate vocabularies, by `tokenizer_config.json`. */
export function hasTargetVocabulary(tokenizerConfig: Uint8Array | undefined): boolean {
  const config = tokenizerConfig && (parseJson(tokenizerConfig) as { separate_vocabs?: unknown } | undefined);
  return config?.separate_vocabs === true;
}

/** Source and target language, by `tokenizer_config.json` of a Marian model. */
export function pairOf(tokenizerConfig: Uint8Array | undefined): [string, string] | null {
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
export const WITH_TEXT = ['marian', 'mbart', 'm2m_100', 'pegasus', 't5'];

const MARIAN = ['source.spm', 'target.spm', 'vocab.json'];
/** Files by tokenizer class, or by `model_type` without a class. Any other model may have Marian's files. */
const FILES = new Map([
  ['T5Tokenizer', ['spiece.model']],
  ['PegasusTokenizer', ['spiece.model']],
  ['MBartTokenizer', ['sentencepiece.bpe.model']],
  ['MBart50Tokenizer', ['sentencepiece.bpe.model']],
  ['NllbTokenizer', ['sentencepiece.bpe.model']],
  ['M2M100Tokenizer', ['sentencepiece.bpe.model', 'vocab.json']],
]);
const CLASSES = new Map([
  ['t5', 'T5Tokenizer'],
  ['pegasus', 'PegasusTokenizer'],
  ['bigbird_pegasus', 'PegasusTokenizer'],
  ['mbart', 'MBartTokenizer'],
  ['m2m_100', 'M2M100Tokenizer'],
]);
/** Class names that do not identify files. */
const NO_CLASSES = ['PreTrainedTokenizer', 'TokenizersBackend'];
/** Models that do not translate, so that their tokenizers are not read. */
const WITHOUT_TEXT = ['bert', 'gpt2'];

/** The files that a model needs for text, by `config.json` and `tokenizer_config.json`, as in the engine. */
export function textFiles(config: Uint8Array | undefined, tokenizerConfig: Uint8Array | undefined): string[] {
  const [model, tokenizer] = [config, tokenizerConfig].map((bytes) => (bytes ? (parseJson(bytes) as Json) : undefined));
  const type = model?.['model_type'];
  if (WITHOUT_TEXT.includes(String(type))) return [];
  const names = [tokenizer, model].map((json) => json?.['tokenizer_class']);
  const classes = names.filter((name) => typeof name === 'string').map((name) => name.replace(/Fast$/, ''));
  const named = classes.find((name) => !NO_CLASSES.includes(name)) ?? CLASSES.get(String(type));
  return FILES.get(String(named)) ?? MARIAN;
}

/** The files that a page would download of a repository, by the names of its files and its family. */
export function chosenFiles(names: readonly string[], family: string | null): string[] {
  const text = FILES.get(CLASSES.get(String(family)) ?? '') ?? MARIAN;
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
