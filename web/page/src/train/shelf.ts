/** The training that survives a reload: a folder in the origin's private file system. */
import type { TrainedFiles, TrainProgress } from 'wordloom/train';

const FOLDER = 'wordloom-training';
/** Written last: without it, the folder is not complete. */
const COURSE = 'course.json';

export interface Kept {
  readonly step: number;
  /** The rule's name, or `pairs`. */
  readonly task: string;
}

export interface Stored extends Kept {
  readonly files: TrainedFiles;
  readonly points: readonly TrainProgress[];
}

/** Stores a training in place of the last one. Null: this browser has no such storage. */
export async function put({ files, points, step, task }: Stored): Promise<Kept | null> {
  const root = await storage();
  if (root === null) return null;
  const folder = await root.getDirectoryHandle(FOLDER, { create: true });
  await folder.removeEntry(COURSE).catch(() => {});
  for (const [name, bytes] of Object.entries(files)) await write(folder, name, bytes);
  const course = JSON.stringify({ step, task, points });
  await write(folder, COURSE, new TextEncoder().encode(course));
  return { step, task };
}

/** The stored training without its files; null: there is none. */
export async function look(): Promise<Kept | null> {
  const course = await readCourse();
  return course === null ? null : { step: course.step, task: course.task };
}

export async function take(): Promise<Stored | null> {
  const course = await readCourse();
  const folder = await open();
  if (course === null || folder === null) return null;
  const files: TrainedFiles = {};
  for await (const [name, handle] of folder.entries()) {
    if (name === COURSE || !isFile(handle)) continue;
    files[name] = new Uint8Array(await (await handle.getFile()).arrayBuffer());
  }
  return { ...course, files };
}

export async function clear(): Promise<void> {
  const root = await storage();
  await root?.removeEntry(FOLDER, { recursive: true }).catch(() => {});
}

async function readCourse(): Promise<(Kept & { points: TrainProgress[] }) | null> {
  try {
    const handle = await (await open())?.getFileHandle(COURSE);
    const value: unknown = handle && JSON.parse(await (await handle.getFile()).text());
    return isCourse(value) ? value : null;
  } catch {
    // missing or unreadable: nothing to go on with
    return null;
  }
}

function isCourse(value: unknown): value is Kept & { points: TrainProgress[] } {
  const { step, task, points } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return typeof step === 'number' && typeof task === 'string' && Array.isArray(points);
}

async function open(): Promise<FileSystemDirectoryHandle | null> {
  const root = await storage();
  return (await root?.getDirectoryHandle(FOLDER).catch(() => null)) ?? null;
}

/** Null in private windows of some browsers. */
async function storage(): Promise<FileSystemDirectoryHandle | null> {
  try {
    return await navigator.storage.getDirectory();
  } catch {
    return null;
  }
}

async function write(folder: FileSystemDirectoryHandle, name: string, bytes: Uint8Array): Promise<void> {
  const stream = await (await folder.getFileHandle(name, { create: true })).createWritable();
  await stream.write(new Uint8Array(bytes));
  await stream.close();
}

function isFile(handle: FileSystemHandle): handle is FileSystemFileHandle {
  return handle.kind === 'file';
}
