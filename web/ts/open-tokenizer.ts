/** Opens a tokenizer that Hugging Face's library runs, beside the engine in its thread. */
import { WordloomError } from './errors.js';
import { startWasm } from './wasm-start.js';
import type { HostFolder } from './wordloom_web.js';
import type { FastTokenizer } from './wordloom_web_tokenizer.js';

/** The files that it may read. */
const FILES = [
  ...['config.json', 'tokenizer_config.json', 'special_tokens_map.json', 'added_tokens.json'],
  ...['tokenizer.json', 'vocab.json', 'merges.txt', 'vocab.txt'],
];

let started: Promise<typeof FastTokenizer> | undefined;

/** `fetchModule` is called once, or again after a failure. */
export async function openTokenizer(
  { label, files }: HostFolder,
  fetchModule: (url: URL) => Promise<Response | BufferSource>,
): Promise<FastTokenizer> {
  const wanted = files.filter(({ name }) => FILES.includes(name));
  started ??= start(fetchModule).catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  const [tokenizers] = await Promise.all([started, ...wanted.map((file) => file.arrived(file.size))]);
  const names = wanted.map(({ name }) => name);
  const contents = wanted.map((file) => file.read(0, file.size));
  try {
    return tokenizers.open(label, names, contents);
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    throw new WordloomError('input', `${label}: the tokenizers library cannot use its files.`, { cause: error });
  }
}

async function start(fetchModule: (url: URL) => Promise<Response | BufferSource>): Promise<typeof FastTokenizer> {
  const { FastTokenizer, init, MODULE } = await import('./fast-tokenizer.js');
  await startWasm(init, () => fetchModule(MODULE));
  return FastTokenizer;
}
