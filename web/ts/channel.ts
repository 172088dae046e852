/** Channels of a browser: a worker, or this thread. */
import type { Channel } from './protocol.js';
import { inThread } from './in-thread.js';

export function workerChannel(): Channel {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'wordloom' });
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, crash) {
      worker.onmessage = ({ data }) => receive(data);
      worker.onmessageerror = () => crash(new Error('a message could not be read'));
      worker.onerror = (event) => {
        event.preventDefault();
        // If the script cannot be fetched, the event has no message.
        crash(new Error(event.message || 'its worker did not start (is worker.js served, and as JavaScript?)'));
      };
    },
    close: () => worker.terminate(),
  };
}

/** The engine in this thread. Its code is fetched on demand. */
export function directChannel(): Channel {
  return inThread(async (post) => {
    const [{ Server }, { browser }] = await Promise.all([import('./server.js'), import('./browser.js')]);
    return new Server(browser, post);
  });
}
