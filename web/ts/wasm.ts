/** The wasm module, started once in a thread. */
import { WordloomError } from './errors.js';
import { hasSimd } from './simd.js';
import init from './wordloom_web.js';

let started: Promise<void> | undefined;

/** Starts the module. `fetchModule` is called once, or again after a failure. */
export function startModule(fetchModule: () => Promise<Response | BufferSource>): Promise<void> {
  started ??= start(fetchModule).catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  return started;
}

async function start(fetchModule: () => Promise<Response | BufferSource>): Promise<void> {
  if (!hasSimd()) {
    const needs = 'Wordloom needs Chrome 91, Firefox 89, Safari 16.4, Node 20, or newer.';
    throw new WordloomError('unsupported', `There is no WebAssembly with SIMD here. ${needs}`);
  }
  const module_or_path = await fetchModule();
  try {
    await init({ module_or_path });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/content security policy|unsafe-eval/i.test(message)) {
      const fix = "add 'wasm-unsafe-eval' to its script-src.";
      throw new WordloomError('unsupported', `This page's security policy forbids WebAssembly: ${fix}`, { cause: error });
    }
    throw new WordloomError('internal', `The wasm module did not start: ${message}`, { cause: error });
  }
}
