/**
 * The service worker. It stores the files of one version of the page and answers from them; those of training and of documents only
 * once they are used. Requests for the model pass through,
 * because the engine stores it itself. A new version is fetched completely and takes over when the user agrees or the last
 * tab closes, so a page never mixes two versions.
 */
/// <reference lib="webworker" />
declare const self: ServiceWorkerGlobalScope;

// Filled in by the build (build/offline.ts).
declare const WORDLOOM_VERSION: string;
declare const WORDLOOM_FILES: readonly string[];
/** Files that are stored when they are first requested. */
declare const WORDLOOM_LATER: readonly string[];

const PREFIX = 'wordloom-page-';
const NAME = PREFIX + WORDLOOM_VERSION;

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches.open(NAME).then((cache) =>
      // files with a hash may come from the HTTP cache; others must be new
      cache.addAll(
        WORDLOOM_FILES.map(
          (file) => new Request(file, { cache: file.startsWith('assets/') ? 'default' : 'no-cache' }),
        ),
      ),
    ),
  );
});

self.addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener('message', (event) => {
  if (event.data === 'take over') void self.skipWaiting();
});

self.addEventListener('fetch', (event) => {
  const file = fileOf(event.request);
  if (file === null) return;
  event.respondWith(
    caches
      .open(NAME)
      .then(async (cache) => (await cache.match(file)) ?? (await fetched(cache, file, event.request))),
  );
});

async function fetched(cache: Cache, file: string, request: Request): Promise<Response> {
  const response = await fetch(request);
  // a full storage is no reason to fail
  if (WORDLOOM_LATER.includes(file) && response.ok) await cache.put(file, response.clone()).catch(() => {});
  return response;
}

/** The stored file for a request; null for other requests. */
function fileOf(request: Request): string | null {
  if (request.method !== 'GET') return null;
  const scope = self.registration.scope;
  const url = new URL(request.url);
  const address = url.origin + url.pathname;
  if (!address.startsWith(scope)) return null;
  const file = address.slice(scope.length);
  if (request.mode === 'navigate') return file === '' || file === 'index.html' ? './' : null;
  return WORDLOOM_FILES.includes(file) || WORDLOOM_LATER.includes(file) ? file : null;
}

function isOld(name: string): boolean {
  return name.startsWith(PREFIX) && name !== NAME;
}
