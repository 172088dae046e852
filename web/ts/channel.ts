/** Channels of a browser: a worker, or this thread. */
import type { Channel } from './protocol.js';
import { inThread } from './in-thread.js';
import { toWorker } from './worker-channel.js';

export function workerChannel(): Channel {
  const start = () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'wordloom' });
  return toWorker(start, 'worker.js', ', or pass `worker: false`');
}

/** The engine in this thread. Its code is fetched on demand. */
export function directChannel(): Channel {
  return inThread(async (post) => {
    const [{ Server }, { browser }] = await Promise.all([import('./server.js'), import('./browser.js')]);
    return new Server(browser, post);
  });
}
