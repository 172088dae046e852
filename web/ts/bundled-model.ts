import type { WireSource } from './protocol.js';

/** SHA-256 of each file of the bundled model; written by the build. */
declare const __MODEL_MANIFEST__: Record<string, string>;
/** And its bytes. */
declare const __MODEL_SIZES__: Record<string, number>;

/** The languages of the bundled model. */
export const BUNDLED_LANGUAGES = { source: 'en', target: 'de' } as const;

/**
 * The model of the package. Every URL is written in the only form that bundlers follow. Bundlers may turn small files into
 * `data:` URLs.
 */
export function bundledModel(): Extract<WireSource, { from: 'bundle' }> {
  return {
    from: 'bundle',
    label: 'the bundled model',
    manifest: __MODEL_MANIFEST__,
    sizes: __MODEL_SIZES__,
    urls: {
      'config.json': new URL('./model/config.json', import.meta.url).href,
      'generation_config.json': new URL('./model/generation_config.json', import.meta.url).href,
      'tokenizer_config.json': new URL('./model/tokenizer_config.json', import.meta.url).href,
      'vocab.json': new URL('./model/vocab.json', import.meta.url).href,
      'source.spm': new URL('./model/source.spm', import.meta.url).href,
      'target.spm': new URL('./model/target.spm', import.meta.url).href,
      'model.safetensors': new URL('./model/model.safetensors', import.meta.url).href,
    },
  };
}
