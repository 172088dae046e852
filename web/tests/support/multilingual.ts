/** A tiny mBART with text. */
import { grown } from './grown.ts';

/** `options` are added to its `generation_config.json`. */
export function multilingual(options: Record<string, unknown> = {}): Promise<string> {
  return grown({
    model: 'mbart',
    vocabulary: 427, // pieces and special tokens, 25 languages, the mask
    files: { 'sentencepiece.bpe.model': 'fairseq.spm' },
    written: {
      'generation_config.json': { max_length: 24, num_beams: 2, eos_token_id: 2, pad_token_id: 1, ...options },
      'tokenizer_config.json': { tokenizer_class: 'MBartTokenizer' },
    },
  });
}
