/** The browser's services for the engine. */
import { WordloomError } from './errors.js';
import { openBrowserFolder } from './loading/open.js';
import type { Platform } from './server.js';
import { startModule } from './wasm.js';

export const browser: Platform = {
  startWasm: () => startModule(fetchModule),
  openFolder: openBrowserFolder,
};

async function fetchModule(): Promise<Response> {
  const url = new URL('./wordloom_web_bg.wasm', import.meta.url);
  const advice = 'Serve it beside the script that asks for it.';
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new WordloomError('network', `${url.href} could not be fetched. ${advice}`, { cause: error });
  }
  if (!response.ok) throw new WordloomError('network', `${url.href} answered ${response.status}. ${advice}`);
  if (response.headers.get('Content-Type') === 'application/wasm') return response;
  // Streaming compilation refuses any other type, so copy the bytes.
  return new Response(await response.arrayBuffer(), { headers: { 'Content-Type': 'application/wasm' } });
}

