/** The wasm module, started once in a thread. */
import { startWasm } from './wasm-start.js';
import init from './wordloom_web.js';

let started: Promise<void> | undefined;

/** Starts the module. `fetchModule` is called once, or again after a failure. */
export function startModule(fetchModule: () => Promise<Response | BufferSource>): Promise<void> {
  started ??= startWasm(init, fetchModule).catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  return started;
}
