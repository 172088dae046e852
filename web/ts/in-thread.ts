import type { Channel, FromEngine } from './protocol.js';
import type { Server } from './server.js';

/** A channel to an engine in this thread. */
export function inThread(start: (post: (message: FromEngine) => void) => Promise<Server>): Channel {
  let server: Promise<Server>;
  let stopWatching = () => {};
  return {
    post(message) {
      // Copied, as a worker would get it: what the caller changes later does not matter.
      const copy = structuredClone(message);
      server.then((it) => it.receive(copy)).catch(() => {});
    },
    listen(receive, crash) {
      server = start((message) => queueMicrotask(() => receive(message)));
      server.catch(crash);
      stopWatching = watchTraps((error) => void server.then((it) => it.crash(error)));
    },
    close: () => stopWatching(),
  };
}

/** A trap in a task of the engine's own reaches nobody but the global handlers. */
function watchTraps(trapped: (error: WebAssembly.RuntimeError) => void): () => void {
  if (typeof globalThis.addEventListener !== 'function') return () => {};
  const watch = (error: unknown) => {
    if (error instanceof WebAssembly.RuntimeError) trapped(error);
  };
  const onError = (event: ErrorEvent) => watch(event.error);
  const onRejection = (event: PromiseRejectionEvent) => watch(event.reason);
  globalThis.addEventListener('error', onError);
  globalThis.addEventListener('unhandledrejection', onRejection);
  return () => {
    globalThis.removeEventListener('error', onError);
    globalThis.removeEventListener('unhandledrejection', onRejection);
  };
}
