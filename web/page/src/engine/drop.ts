/** Files of a folder that was dropped on the page. */

/** Must be called during the drop event, because the dropped items are gone afterwards. */
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

/** Depth of folders. A model is a flat folder; one more level finds it in an unpacked archive. */
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
    // each call gives a part of a large folder, the last call an empty list
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (part.length === 0) return;
    for (const child of part) await collect(child, files, depth + 1);
  }
}
