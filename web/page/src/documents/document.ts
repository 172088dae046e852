/** A document that is being translated, one at a time. The code that reads documents is fetched with the first one. */
import { batch, effect, signal } from '@preact/signals';
import { DOCUMENT_ENDINGS } from 'wordloom';
import type { DocumentProgress } from 'wordloom/documents';

import { explainWork, isAbort } from '../engine/explain.ts';
import { reload, running } from '../engine/load.ts';
import type { Running } from '../engine/load.ts';
import { dismissAll, notify } from '../notices.ts';
import { direction, languageOptions, optionsOfFirst, pair } from '../translation/direction.ts';
import { glossaryOption } from '../translation/glossary.ts';
import { searchBeams } from '../translation/live.ts';

export interface Job {
  readonly file: File;
  /** null: before the first part. */
  readonly progress: DocumentProgress | null;
  /** When its translation began, in the clock of `performance`. */
  readonly begun: number;
  /** The translated document; null while it is being translated. */
  readonly result: { readonly url: string; readonly name: string } | null;
}

export const job = signal<Job | null>(null);
let controller: AbortController | null = null;

/** For the file picker: `.txt,.docx`. */
export const ACCEPTED = DOCUMENT_ENDINGS.map((ending) => `.${ending}`).join(',');

/** Whether a file is a document rather than a model's file or a trace. */
export async function isDocument(file: File): Promise<boolean> {
  const ending = endingOf(file.name);
  if (!DOCUMENT_ENDINGS.includes(ending)) return false;
  // strings of a program, or a trace
  return ending !== 'json' || !(await file.slice(0, 4096).text()).includes('"wordloom.trace"');
}

export async function translateFile(file: File): Promise<void> {
  closeJob();
  dismissAll('document');
  const own = new AbortController();
  controller = own;
  job.value = { file, progress: null, begun: performance.now(), result: null };
  try {
    const [{ translateDocument }, now] = await Promise.all([import('wordloom/documents'), ready(own.signal)]);
    const options = { ...languageOptions(direction.peek()), beams: searchBeams.peek(), sample: false };
    const { via } = now;
    const target = pair.peek().target;
    const document = await translateDocument(now.translator, file, {
      ...options,
      ...glossaryOption.peek(),
      ...(via === null
        ? {}
        : { via: { translator: via.translator, options: { ...optionsOfFirst(via), beams: options.beams, sample: false } } }),
      signal: own.signal,
      onProgress: (progress) => {
        if (controller === own && job.peek() !== null) job.value = { ...(job.peek() as Job), progress };
      },
    });
    if (controller !== own) return;
    const result = { url: URL.createObjectURL(document), name: nameIn(file.name, target) };
    job.value = { ...(job.peek() as Job), result };
  } catch (error) {
    if (controller !== own || isAbort(error)) return;
    const again = { label: 'Try again', run: () => void translateFile(file) };
    batch(() => {
      job.value = null;
      notify(explainWork(error, 'document', again, { label: 'Load the model again', run: () => void reload() }));
    });
  }
}

/** Stops a translation; takes a finished one away. */
export function closeJob(): void {
  controller?.abort();
  controller = null;
  const url = job.peek()?.result?.url;
  if (url !== undefined) URL.revokeObjectURL(url);
  job.value = null;
}

/** The running model, or the one that is being loaded. */
function ready(signal: AbortSignal): Promise<Running> {
  return new Promise((resolve, reject) => {
    const stop = effect(() => {
      const now = running.value;
      // an effect must not end itself during its first run
      if (now !== null) queueMicrotask(() => (stop(), resolve(now)));
    });
    signal.addEventListener('abort', () => (stop(), reject(new DOMException('Stopped.', 'AbortError'))), { once: true });
  });
}

function endingOf(name: string): string {
  return /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
}

/** `report.docx` -> `report.de.docx` */
function nameIn(name: string, language: string | null): string {
  return name.replace(/(\.[^.]+)?$/, (ending) => `.${language ?? 'translated'}${ending}`);
}
