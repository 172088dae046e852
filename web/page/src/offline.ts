/** Registers the service worker, so that the page works without the network from the second visit on. */
import { notify } from './notices.ts';

export function keepOffline(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  // after the first translation, so that it does not compete for network and processor
  const start = (): void => void register().catch(() => undefined);
  if (document.readyState === 'complete') start();
  else window.addEventListener('load', start, { once: true });
}

async function register(): Promise<void> {
  const hadOne = navigator.serviceWorker.controller !== null;
  const registration = await navigator.serviceWorker.register('./sw.js', { updateViaCache: 'none' });
  const offer = (): void => {
    const waiting = registration.waiting;
    if (waiting === null || !hadOne) return;
    notify({
      about: 'update',
      tone: 'info',
      title: 'A new version of this page is ready.',
      actions: [{ label: 'Reload', run: () => waiting.postMessage('take over') }],
    });
  };
  offer();
  registration.addEventListener('updatefound', () => {
    registration.installing?.addEventListener('statechange', offer);
  });
  let reloading = !hadOne;
  navigator.serviceWorker.addEventListener('controllerchange', () => {
    if (reloading) return;
    reloading = true;
    location.reload();
  });
}
