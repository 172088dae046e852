/** The browser's services for the engine. */
import { fetchBeside } from './fetch-module.js';
import { openBrowserFolder } from './loading/open.js';
import type { Platform } from './server.js';
import { startModule } from './wasm.js';

export const browser: Platform = {
  fetchModule: fetchBeside,
  startWasm: () => startModule(() => fetchBeside(new URL('./wordloom_web_bg.wasm', import.meta.url))),
  openFolder: openBrowserFolder,
};
