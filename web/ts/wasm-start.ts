/** Starting a wasm module, with errors that say what is missing. */
import { WordloomError } from './errors.js';
import { hasSimd } from './simd.js';

export type Init = (input: { module_or_path: Response | BufferSource }) => Promise<unknown>;

export async function startWasm(
  init: Init,
  fetchModule: () => Promise<Response | BufferSource>,
): Promise<void> {
  if (!hasSimd()) {
    const needs = 'Wordloom needs Chrome 108, Firefox 114, Safari 16.4, Node 20, or newer.';
    throw new WordloomError('unsupported', `There is no WebAssembly with SIMD here. ${needs}`, { code: 'no-simd' });
  }
  const module_or_path = await fetchModule();
  try {
    await init({ module_or_path });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/content security policy|unsafe-eval/i.test(message)) {
      const fix = "add 'wasm-unsafe-eval' to its script-src.";
      throw new WordloomError('unsupported', `This page's security policy forbids WebAssembly: ${fix}`, { cause: error, code: 'csp' });
    }
    throw new WordloomError('internal', `The wasm module did not start: ${message}`, { cause: error });
  }
}
