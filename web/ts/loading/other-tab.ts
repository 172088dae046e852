import type { DownloadProgress } from './progress.js';
import type { Store } from './store.js';

const EVERY_MS = 250;

/** Reports the progress of another tab's download of the same model, until the returned function is called. */
export function watchOtherTab(store: Store, progress: DownloadProgress): () => void {
  const look = async () => {
    const { files } = await store.catalogue();
    for (const [name, { size }] of Object.entries(files)) {
      const file = await store.file(name);
      if (file) progress.update(name, Math.min(file.size, size), size);
    }
  };
  const timer = setInterval(() => void look(), EVERY_MS);
  return () => clearInterval(timer);
}
