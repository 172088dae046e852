/** Node's services for the engine. */
import { readFile } from 'node:fs/promises';
import { openNodeFolder } from './loading/open-node.js';
import type { Platform } from './server.js';
import { startModule } from './wasm.js';

export const node: Platform = {
  fetchModule: (url) => readFile(url),
  startWasm: () => startModule(async () => readFile(new URL('./wordloom_web_bg.wasm', import.meta.url))),
  openFolder: openNodeFolder,
};
