/** The output of `wasm-bindgen` for the module of tokenizers. */
export default function init(input: { module_or_path: Response | BufferSource }): Promise<unknown>;

/** A tokenizer that Hugging Face's library runs. The engine calls all but `open`. */
export class FastTokenizer {
  static open(label: string, names: string[], contents: Uint8Array[]): FastTokenizer;
  encode(text: string, addSpecialTokens: boolean): Uint32Array;
  decode(ids: Uint32Array, skipSpecialTokens: boolean): string;
  token(id: number): string | undefined;
  id(token: string): number | undefined;
  last(): number;
  specialIds(): Uint32Array;
  free(): void;
}
