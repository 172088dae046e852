import type { HostFolder } from '../wordloom_web.js';

/** A model's folder whose weights may still be on their way. */
export interface OpenFolder {
  host: HostFolder;
  /** Resolves when every file is here and checked; rejects with the first thing that goes wrong. */
  complete: Promise<void>;
  /** What went wrong here, where something did: an engine whose reads fail knows less about why. */
  failure(): unknown;
  /** Stops downloads and lets go of files. */
  close(): void;
}

export const SHARD_INDEX = 'model.safetensors.index.json';
export const SINGLE_WEIGHTS = 'model.safetensors';

/** The files of a checkpoint that an index lists, in order. */
export function shardsOf(index: Uint8Array): string[] {
  const map = (parseJson(index) as { weight_map?: unknown } | undefined)?.weight_map;
  if (typeof map !== 'object' || map === null) return [];
  const names = new Set(Object.values(map).filter((name) => typeof name === 'string'));
  // A name that leads elsewhere is left out: the engine says that it is missing.
  return [...names].filter((name) => /^[\w.-]+$/.test(name) && !name.startsWith('.')).sort();
}

/** Whether source and target have vocabularies of their own, by `tokenizer_config.json`. */
export function hasTargetVocabulary(tokenizerConfig: Uint8Array | undefined): boolean {
  const config = tokenizerConfig && (parseJson(tokenizerConfig) as { separate_vocabs?: unknown } | undefined);
  return config?.separate_vocabs === true;
}

/** Nothing where it is no JSON: the engine reads the same bytes and says what is wrong with them. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) ?? undefined;
  } catch {
    return undefined;
  }
}
