/** The download of a wasm module. */
import { WordloomError } from './errors.js';

export async function fetchBeside(url: URL): Promise<Response> {
  const advice = 'Serve it beside the script that asks for it.';
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new WordloomError('network', `${url.href} could not be fetched. ${advice}`, { cause: error, code: 'no-engine' });
  }
  if (!response.ok) throw new WordloomError('network', `${url.href} answered ${response.status}. ${advice}`, { code: 'no-engine' });
  if (response.headers.get('Content-Type') === 'application/wasm') return response;
  // Streaming compilation refuses any other type, so copy the bytes.
  return new Response(await response.arrayBuffer(), { headers: { 'Content-Type': 'application/wasm' } });
}
