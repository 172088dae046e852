import type { Channel } from './protocol.js';

/** The channel to a worker. `script`: its name in messages. */
export function toWorker(worker: Worker, script: string): Channel {
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, crash) {
      worker.onmessage = ({ data }) => receive(data);
      worker.onmessageerror = () => crash(new Error('a message could not be read'));
      worker.onerror = (event) => {
        event.preventDefault();
        // If the script cannot be fetched, the event has no message.
        crash(new Error(event.message || `its worker did not start (is ${script} served, and as JavaScript?)`));
      };
    },
    close: () => worker.terminate(),
  };
}
