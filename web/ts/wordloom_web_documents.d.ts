/** The output of `wasm-bindgen` for the module of documents, with types that its own declarations lack. */
import type { DocumentText } from './document-types.js';

export default function init(input: { module_or_path: Response | BufferSource }): Promise<unknown>;

export class DocumentFile {
  static read(bytes: Uint8Array, name: string, columns: string[]): DocumentFile;
  texts(): DocumentText[];
  write(translations: string): Uint8Array<ArrayBuffer>;
  free(): void;
}
