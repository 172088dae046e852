/** Accepts a document, a model folder or a trace dropped anywhere on the page. */
import { useEffect, useState } from 'preact/hooks';

import { openFile } from '../attention/traces.ts';
import { isDocument, translateFile } from '../documents/document.ts';
import { droppedFolder } from '../engine/drop.ts';
import { load } from '../engine/load.ts';
import { notify } from '../notices.ts';
import { device } from '../settings.ts';
import { FolderIcon } from './icons.tsx';
import { t } from '../texts/texts.ts';

export function DropZone() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    // nested elements send enter and leave in pairs, so count them
    let depth = 0;
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;
    const enter = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth += 1;
      setOver(true);
    };
    const move = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (event.dataTransfer !== null) event.dataTransfer.dropEffect = 'copy';
    };
    const leave = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      void take(event.dataTransfer);
    };
    const listeners = { dragenter: enter, dragover: move, dragleave: leave, drop };
    for (const [name, listener] of Object.entries(listeners))
      window.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) {
        window.removeEventListener(name, listener as EventListener);
      }
    };
  }, []);
  if (!over) return null;
  return (
    <div class="drop" aria-hidden="true">
      <p>
        <FolderIcon />
        {t('Drop a document to translate it, a model folder to translate with it, or a trace to look at')}
      </p>
    </div>
  );
}

async function take(transfer: DataTransfer): Promise<void> {
  try {
    const { name, files } = await droppedFolder(transfer);
    const [file] = files;
    if (files.length === 1 && file !== undefined && (await isDocument(file))) {
      await translateFile(file);
      return;
    }
    // another single file is a trace, because a model has several
    if (files.length === 1 && file !== undefined && /\.(json|safetensors)$/i.test(file.name)) {
      await openFile(file);
      return;
    }
    await load({ kind: 'folder', name, files }, device.peek());
  } catch {
    notify({
      about: 'load',
      tone: 'error',
      title: 'The folder could not be read.',
      advice: 'Drop it once more, or choose it under the model’s name above.',
    });
  }
}
