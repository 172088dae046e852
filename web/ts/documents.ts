/** Documents in a browser: their text is translated, and everything else stays. */
import { anyOptions, checkFunction, checkSignal, OF_TRANSLATE, onlyKnown, plainOptions } from './check-input.js';
import { abortedBy, Client } from './client.js';
import type { DocumentInput, DocumentOptions, DocumentText, WireText } from './document-types.js';
import { WordloomError } from './errors.js';
import type { Channel } from './protocol.js';
import type { TranslatorBase } from './translator.js';
import type { Sentence, TranslateOptions } from './types.js';
import { toWorker } from './worker-channel.js';

export { DOCUMENT_ENDINGS } from './document-endings.js';
export type { DocumentInput, DocumentOptions, DocumentProgress } from './document-types.js';
export { WordloomError, type ErrorKind } from './errors.js';

/** Characters of the first call, which is short so that progress shows soon, and of the longest. */
const FIRST_WINDOW = 600;
const LONGEST_WINDOW = 20_000;
/** Other calls of the translator wait at most about as long, milliseconds. */
const TURN_MS = 1_500;

/** Options of `translate` whose results a document has no place for. */
const NOT_FOR_DOCUMENTS = ['nBest', 'alignments', 'attention', 'keepAttention'];

/** A translator with the options of its calls. */
interface Step {
  translator: TranslatorBase;
  options: TranslateOptions;
}

/**
 * Translates a document, as `wordloom translate --input` does: Word, PowerPoint, OpenDocument, EPUB, HTML, Markdown, subtitles,
 * files of strings, tables and more. Only text changes. Other calls of the translator come between its parts.
 *
 * Rejects with the kind `input` if the file's format is unknown or the file is damaged.
 */
export async function translateDocument(
  translator: TranslatorBase,
  document: DocumentInput,
  options: DocumentOptions = {},
): Promise<Blob> {
  anyOptions(options);
  const { columns = [], via, onProgress, signal, ...search } = options ?? {};
  const { name, data } = contentOf(document);
  checkTranslator(translator, 'The translator');
  const [other] = Object.keys(search).filter((name) => NOT_FOR_DOCUMENTS.includes(name));
  if (other !== undefined) throw new WordloomError('input', `A document takes no ${other}; translate does.`);
  const known = OF_TRANSLATE.filter((name) => !NOT_FOR_DOCUMENTS.includes(name));
  plainOptions(search, 'translateDocument', [...known, 'columns', 'via', 'onProgress']);
  if (via !== undefined) {
    onlyKnown('via', via, ['translator', 'options']);
    checkTranslator(via.translator, 'via.translator');
    plainOptions(via.options, 'via.options', known);
  }
  if (!Array.isArray(columns)) throw new WordloomError('input', 'columns must be a list of names or numbers of columns.');
  if (columns.length > 0 && !/\.(csv|tsv)$/i.test(name)) {
    throw new WordloomError('input', `columns are those of a table (.csv, .tsv), and ${name} is none.`);
  }
  checkFunction(onProgress, 'onProgress');
  checkSignal(signal);
  if (signal?.aborted) throw abortedBy(signal);
  const client = new Client(channel(), undefined);
  try {
    const texts = await client.call('documentRead', { name, data, columns: columns.map(String) }, signal);
    const steps: Step[] = [{ translator, options: { ...search, nBest: 1 } }];
    if (via) steps.unshift({ translator: via.translator, options: { ...via.options, nBest: 1 } });
    const translations = await new Translation(texts, steps, onProgress, signal).run();
    const bytes = await client.call('documentWrite', translations, signal);
    return new Blob([bytes], document instanceof File ? { type: document.type } : {});
  } finally {
    client.destroy();
  }
}

/** The translation of a document's texts, in calls that grow to `TURN_MS`. */
class Translation {
  readonly #texts: readonly DocumentText[];
  readonly #steps: readonly Step[];
  readonly #onProgress: DocumentOptions['onProgress'];
  readonly #signal: AbortSignal | undefined;
  readonly #found: WireText[];
  readonly #total: number;
  #done = 0;

  constructor(
    texts: readonly DocumentText[],
    steps: readonly Step[],
    onProgress: DocumentOptions['onProgress'],
    signal: AbortSignal | undefined,
  ) {
    this.#texts = texts;
    this.#steps = steps;
    this.#onProgress = onProgress;
    this.#signal = signal;
    this.#found = texts.map(() => ({ steps: [] }));
    this.#total = texts.reduce((sum, { text }) => sum + text.length, 0);
  }

  /** Texts without tags first, then those with tags, which need alignments. */
  async run(): Promise<WireText[]> {
    this.#report();
    let limit = FIRST_WINDOW;
    for (const tagged of [false, true]) {
      let left = [...this.#texts.keys()].filter((index) => this.#texts[index]?.tagged === tagged);
      while (left.length > 0) {
        const count = fitting(left.map((index) => this.#texts[index]?.text ?? ''), limit);
        const begun = performance.now();
        await this.#some(left.slice(0, count), tagged);
        const took = performance.now() - begun;
        limit = Math.min(LONGEST_WINDOW, Math.max(FIRST_WINDOW, took < TURN_MS / 2 ? 2 * limit : took > TURN_MS ? limit / 2 : limit));
        left = left.slice(count);
        this.#report();
      }
    }
    return this.#found;
  }

  async #some(indexes: readonly number[], tagged: boolean): Promise<void> {
    let sources = indexes.map((index) => this.#texts[index]?.text ?? '');
    for (const step of this.#steps) {
      const parts = await this.#translate(step, sources, tagged);
      parts.forEach((part, place) => this.#found[indexes[place] ?? 0]?.steps.push(part));
      sources = parts.map(({ text }) => text);
    }
    for (const index of indexes) this.#done += this.#texts[index]?.text.length ?? 0;
  }

  async #translate(step: Step, sources: readonly string[], tagged: boolean): Promise<WireText['steps']> {
    const call = (text: string) =>
      step.translator.translate(text, { ...step.options, alignments: tagged, signal: this.#signal });
    // lines are translated one by one, and line breaks stay
    if (sources.length > 1 && sources.every((source) => !/[\n\r]/.test(source))) {
      const { text, sentences } = await call(sources.join('\n'));
      const lines = text.split('\n');
      const owners = deal(sources, sentences);
      if (lines.length === sources.length && owners !== undefined) {
        return lines.map((line, index) => ({ text: line, sentences: tagged ? linked(owners[index] ?? []) : [] }));
      }
    }
    const parts: WireText['steps'] = [];
    for (const source of sources) {
      const { text, sentences } = await call(source);
      parts.push({ text, sentences: tagged ? linked(sentences) : [] });
    }
    return parts;
  }

  #report(): void {
    this.#onProgress?.({ done: this.#done, total: this.#total });
  }
}

/** The number of texts that one call takes: at least one. */
function fitting(texts: readonly string[], limit: number): number {
  let size = 0;
  const over = texts.findIndex((text) => (size += text.length + 1) > limit);
  return over < 0 ? texts.length : Math.max(1, over);
}

/** The sentences of each text; `undefined` if one belongs to none. */
function deal(sources: readonly string[], sentences: readonly Sentence[]): Sentence[][] | undefined {
  let next = 0;
  const owners = sources.map((source) => {
    const own: Sentence[] = [];
    let end = 0;
    for (let sentence = sentences[next]; sentence !== undefined; sentence = sentences[++next]) {
      const start = source.indexOf(sentence.source, end);
      if (start < 0) break;
      own.push(sentence);
      end = start + sentence.source.length;
    }
    return own;
  });
  return next === sentences.length ? owners : undefined;
}

function linked(sentences: readonly Sentence[]): WireText['steps'][number]['sentences'] {
  return sentences.map(({ source, hypotheses, alignment = [] }) => ({
    source,
    target: hypotheses[0]?.text ?? '',
    links: alignment,
  }));
}

function channel(): Channel {
  if (typeof Worker === 'undefined') {
    throw new WordloomError('unsupported', 'Documents are translated in browsers only; the command is `wordloom translate --input`.');
  }
  const start = () => new Worker(new URL('./document-worker.js', import.meta.url), { type: 'module', name: 'wordloom-documents' });
  return toWorker(start, 'document-worker.js');
}

function checkTranslator(translator: unknown, name: string): void {
  if (typeof (translator as TranslatorBase | undefined)?.translate === 'function') return;
  throw new WordloomError('input', `${name} is no translator; Translator.create makes one.`);
}

/** Checks the type for callers without TypeScript. */
function contentOf(document: DocumentInput): { name: string; data: Blob | ArrayBuffer | Uint8Array } {
  const { name, data } = document instanceof File ? { name: document.name, data: document } : (document ?? {});
  if (typeof name !== 'string' || !(data instanceof Blob || data instanceof ArrayBuffer || data instanceof Uint8Array)) {
    throw new WordloomError('input', 'A document is a File, or { name, data } with a Blob, an ArrayBuffer or a Uint8Array.');
  }
  return { name, data };
}
