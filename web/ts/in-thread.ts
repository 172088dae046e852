import type { Channel, FromEngine } from './protocol.js';
import type { Server } from './server.js';

/** A channel to an engine in this thread. */
export function inThread(start: (post: (message: FromEngine) => void) => Promise<Server>): Channel {
  let server: Promise<Server>;
  let stopWatching = () => {};
  return {
    post(message) {
      // A copy, as for a worker, so that later changes by the caller have no effect.
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

/** Watches for traps in the engine's own tasks, which reach only the global handlers. */
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
