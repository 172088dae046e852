/** Files of a folder that was dropped on the page. */

/** Must be called while the drop event is handled: what was dropped is gone afterwards. */
export async function droppedFolder(transfer: DataTransfer): Promise<{ name: string; files: File[] }> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  const loose = [...transfer.files];
  const files: File[] = [];
  let name = '';
  for (const entry of entries) {
    if (entry === null) continue;
    if (entry.isDirectory) name ||= entry.name;
    await collect(entry, files, 0);
  }
  // browsers without entries give plain files
  return { name: name || 'Your model', files: files.length > 0 ? files : loose };
}

/** A model is a flat folder; one level more finds it inside of what an archive has unpacked to. */
const DEPTH = 2;
const MOST_FILES = 500;

async function collect(entry: FileSystemEntry, files: File[], depth: number): Promise<void> {
  if (files.length >= MOST_FILES) return;
  if (entry.isFile) {
    files.push(
      await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
    );
    return;
  }
  if (depth >= DEPTH) return;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // a call gives a part of a large folder, and nothing when there is no more
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (part.length === 0) return;
    for (const child of part) await collect(child, files, depth + 1);
  }
}
