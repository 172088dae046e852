/** A model's folder for an engine in Node: on disk, or from the network in memory. */
import { closeSync, openSync, readSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { WordloomError } from '../errors.js';
import type { WireCreate } from '../protocol.js';
import type { ProgressEvent } from '../types.js';
import type { HostFile } from '../wordloom_web.js';
import { addressOf } from './address.js';
import { describe, hubAddress, isOffline, withStored } from './hub.js';
import { cachedNames, cachedSnapshot } from './hub-cache.js';
import { wrongHash } from './download.js';
import type { OpenFolder } from './folder.js';
import { ModelCache } from './model-cache.js';
import { filesIn, openLocalFolder } from './local-folder.js';
import { fetchText, type Manifest, readManifest } from './manifest.js';
import { unpackedFiles } from './packed.js';
import { DownloadProgress } from './progress.js';
import { openRemoteFolder } from './remote-folder.js';
import { sha256OfFile } from './sha256.js';

export async function openNodeFolder(
  options: WireCreate,
  report: (event: ProgressEvent) => void,
  signal: AbortSignal,
  families: () => Promise<string[]>,
): Promise<OpenFolder> {
  const { source } = options;
  const manifest = await readManifest(options.manifest, signal, readText);
  switch (source.from) {
    case 'files':
      return openLocalFolder(source.label, source.files, manifest);
    case 'directory':
      return openLocalFolder(source.handle.name, await filesIn(source.handle), manifest);
    case 'bundle': {
      const files = Object.entries(source.urls).map(([name, url]) => [name, pathOf(url, source.label)] as const);
      return openDisk(source.label, files, manifest); // npm has checked its own package.
    }
    case 'url': {
      if (source.url.startsWith('file:')) return openDirectory(pathOf(source.url, 'model'), manifest);
      if (options.cache === 'required') throw noStore();
      const modelCache = new ModelCache(new DownloadProgress(report), 'none');
      return openRemoteFolder({ address: addressOf(source), modelCache, manifest, signal, families });
    }
    case 'hub': {
      const cached = await cachedSnapshot(source);
      if (cached && !source.update) return openDirectory(cached, manifest);
      if (options.cache === 'required') throw noStore();
      const progress = new DownloadProgress(report);
      const repository = await describe(source, signal).catch(async (error: unknown) => {
        if (!isOffline(error, signal)) throw error;
        if (!cached) throw withStored(error, await cachedNames());
        progress.warn(`${error.message} The model in the cache of the hub's tools is used as it is.`);
        return undefined;
      });
      if (cached && (!repository || cached.endsWith(repository.commit))) return openDirectory(cached, manifest);
      const address = hubAddress(source, repository!);
      return openRemoteFolder({ address, modelCache: new ModelCache(progress, 'none'), manifest, signal, families });
    }
  }
}

async function openDirectory(path: string, manifest: Manifest): Promise<OpenFolder> {
  let entries;
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    const why = 'is not a folder that can be read; give one with config.json and the weights';
    throw new WordloomError('input', `${path} ${why}.`, { cause: error });
  }
  // Links count, because download caches use them.
  const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  return openDisk(path, names.map((name) => [name, `${path}/${name}`] as const), manifest);
}

async function openDisk(
  label: string,
  named: (readonly [name: string, path: string])[],
  manifest: Manifest,
): Promise<OpenFolder> {
  const handles: number[] = [];
  const close = () => {
    for (const handle of handles.splice(0)) closeSync(handle);
  };
  try {
    const opened = await Promise.all(named.map(([name, path]) => openFile(label, name, path, handles)));
    const files = opened.filter((file) => file !== undefined);
    for (const { name, size, read } of files) {
      const expected = manifest[name];
      if (expected === undefined) continue;
      const hash = sha256OfFile(size, read);
      if (hash !== expected) throw wrongHash(name, label, hash, expected);
    }
    return { host: { label, files: await unpackedFiles(label, files) }, complete: Promise.resolve(), failure: () => undefined, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Undefined for a link to a file that is not there: the engine says which files it lacks. */
async function openFile(label: string, name: string, path: string, handles: number[]): Promise<HostFile | undefined> {
  const size = await stat(path).then((stats) => stats.size, () => undefined);
  if (size === undefined) return undefined;
  let handle: number | undefined;
  return {
    name,
    size,
    arrived: () => Promise.resolve(),
    read(offset, length) {
      // Opened on demand, because a folder may have other files.
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; ) {
        let read: number;
        try {
          if (handle === undefined) handles.push((handle = openSync(path, 'r')));
          read = readSync(handle, bytes, at, length - at, offset + at);
        } catch (error) {
          throw new WordloomError('input', `${label}/${name} cannot be read (${(error as Error).message}).`, { cause: error });
        }
        if (read === 0) throw new WordloomError('input', `${label}/${name} has become shorter while it was read.`);
        at += read;
      }
      return bytes;
    },
  };
}

/** The path of a `file:` URL. */
function pathOf(url: string, what: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new WordloomError('input', `${what}: ${url} is no URL of a file on this machine.`, { cause: error });
  }
}

/** Node has no storage of models. */
function noStore(): WordloomError {
  const fix = 'Use cache: "preferred", the path of a folder, or a name that `wordloom models get` has fetched.';
  return new WordloomError('memory', `cache is "required", but Node keeps downloads in memory only. ${fix}`);
}

async function readText(url: string, signal: AbortSignal): Promise<string> {
  if (!url.startsWith('file:')) return fetchText(url, signal);
  try {
    return await readFile(pathOf(url, 'manifest'), 'utf8');
  } catch (error) {
    throw new WordloomError('input', `The manifest ${url} cannot be read.`, { cause: error });
  }
}
