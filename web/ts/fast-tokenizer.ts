/** Hugging Face's tokenizers: a wasm module of their own, which only models that need it download. */
import init, { FastTokenizer } from './wordloom_web_tokenizer.js';

export { FastTokenizer, init };

export const MODULE = new URL('./wordloom_web_tokenizer_bg.wasm', import.meta.url);
