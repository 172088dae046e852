import { WordloomError } from './errors.js';
import type { Channel } from './protocol.js';

/**
 * The channel to a worker that `start` starts.
 *
 * * `script`: its name in messages
 * * `otherwise`: another way than to serve the package from the page's origin
 */
export function toWorker(start: () => Worker, script: string, otherwise = ''): Channel {
  let worker: Worker;
  try {
    worker = start();
  } catch (error) {
    const fix = `serve the package from this page's own origin${otherwise}`;
    throw new WordloomError('unsupported', `This page must not start ${script} as a worker: ${fix}.`, { cause: error });
  }
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, crash) {
      worker.onmessage = ({ data }) => receive(data);
      worker.onmessageerror = () => crash(new Error('a message could not be read'));
      worker.onerror = (event) => {
        event.preventDefault();
        crash(event.message ? new Error(event.message) : notFetched(script));
      };
    },
    close: () => worker.terminate(),
  };
}

/** If the script cannot be fetched, the event has no message. */
function notFetched(script: string): WordloomError {
  const fix = "Check the connection, that it is served as JavaScript, and that worker-src of the page's policy allows it";
  return new WordloomError('network', `${script} could not be fetched. ${fix}.`, { code: 'no-engine' });
}
