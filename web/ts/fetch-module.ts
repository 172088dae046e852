/** The download of a wasm module. */
import { WordloomError } from './errors.js';

export async function fetchBeside(url: URL): Promise<Response> {
  const failed = (what: string, cause?: unknown) =>
    new WordloomError('network', `${url.href} ${what}.`, { cause, code: 'no-engine' });
  const advice = 'Serve it beside the script that asks for it';
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    const why = "Check the connection, and that connect-src of the page's policy allows it";
    throw failed(`could not be fetched. ${why}. ${advice}`, error);
  }
  const type = response.headers.get('Content-Type');
  if (!response.ok) throw failed(`answered ${response.status}. ${advice}`);
  // servers of single-page applications answer every address with a page
  if (type?.startsWith('text/html')) throw failed(`answered with an HTML page. ${advice}`);
  if (type === 'application/wasm') return response;
  // Streaming compilation refuses any other type, so copy the bytes.
  return new Response(await response.arrayBuffer(), { headers: { 'Content-Type': 'application/wasm' } });
}
