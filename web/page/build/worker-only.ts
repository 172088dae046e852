/** Leaves the package's engine for the calling thread (`worker: false`) out of the page, which always has a worker. */
import type { Plugin } from 'vite';

/** Chunks that `directChannel` of `web/ts/channel.ts` fetches. */
const ENGINE = /\/dist\/browser-(server|browser)-[\w-]+\.js$/;
const NONE = '\0no-engine';

export function workerOnly(): Plugin {
  return {
    name: 'wordloom-worker-only',
    enforce: 'pre',
    apply: 'build',
    async resolveId(source, importer, options) {
      if (importer === undefined || !/^\.\/browser-(server|browser)-/.test(source)) return null;
      const found = await this.resolve(source, importer, { ...options, skipSelf: true });
      return found !== null && ENGINE.test(found.id.replaceAll('\\', '/')) ? NONE : null;
    },
    load: (id) => (id === NONE ? "throw new Error('the page has no engine in this thread')" : null),
  };
}
