/** Types of `wordloom/documents`. */
import type { TranslatorBase } from './translator.js';
import type { CallOptions, TranslateOptions } from './types.js';

/** A document: a file, or its name and content. The name's ending tells the format. */
export type DocumentInput = File | { name: string; data: Blob | ArrayBuffer | Uint8Array };

/** Options of `translateDocument`: those of `translate` that a document has a place for, and these. */
export interface DocumentOptions
  extends Omit<TranslateOptions, 'alignments' | 'attention' | 'keepAttention' | 'nBest' | keyof CallOptions>,
    CallOptions {
  /** Columns of a table that are translated, by name or by number from 1. Default: all. */
  columns?: readonly string[];
  /** Translates the document first, into the language that the other translator reads: a translation through English. */
  via?: { translator: TranslatorBase; options?: Omit<DocumentOptions, 'columns' | 'via' | 'onProgress' | 'signal'> };
  /** Gets the translated part after every call. */
  onProgress?: (progress: DocumentProgress) => void;
}

/** How far a document is translated. */
export interface DocumentProgress {
  /** Translated characters of the document's text, of `total`. */
  done: number;
  total: number;
}

/** A text of a document. */
export interface DocumentText {
  text: string;
  /** Whether the links between words place tags in the translation. */
  tagged: boolean;
}

/** The translation of a text, by one model or by two in turn. */
export interface WireText {
  steps: {
    text: string;
    /** Empty without tags. */
    sentences: { source: string; target: string; links: [number, number][] }[];
  }[];
}

/** The calls of a document's worker. */
export interface DocumentCalls {
  documentRead: { input: { name: string; data: Blob | ArrayBuffer | Uint8Array; columns: string[] }; output: DocumentText[] };
  documentWrite: { input: WireText[]; output: Uint8Array<ArrayBuffer> };
}
