/** A tiny mBART with text: the stored model, with a vocabulary enlarged for the stored tokenizer. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTensors, type Stored, writeTensors } from './safetensors.ts';

const DATA = fileURLToPath(new URL('../../../tests/data/', import.meta.url));
/** Pieces and special tokens, 25 languages, the mask. */
const VOCABULARY = 427;

/** `options` are added to its `generation_config.json`. Its output has no meaning. */
export async function multilingual(options: Record<string, unknown> = {}): Promise<string> {
  const target = await mkdtemp(join(tmpdir(), 'wordloom-mbart-'));
  const mbart = join(DATA, 'models/mbart');
  const config = JSON.parse(readFileSync(join(mbart, 'config.json'), 'utf8')) as Record<string, unknown>;
  const tensors = readTensors(join(mbart, 'model.safetensors'));
  for (const [name, tensor] of tensors) {
    const axis = tensor.shape.indexOf(Number(config['vocab_size']));
    if (axis >= 0) tensors.set(name, grown(tensor, axis));
  }
  writeTensors(join(target, 'model.safetensors'), tensors);
  const write = (name: string, value: unknown) => writeFileSync(join(target, name), JSON.stringify(value));
  write('config.json', { ...config, vocab_size: VOCABULARY });
  write('generation_config.json', { max_length: 24, num_beams: 2, eos_token_id: 2, pad_token_id: 1, ...options });
  write('tokenizer_config.json', { tokenizer_class: 'MBartTokenizer' });
  copyFileSync(join(DATA, 'tokenizers/fairseq.spm'), join(target, 'sentencepiece.bpe.model'));
  return target;
}

/** Rows are repeated: other tokens, but no new weights. */
function grown({ dtype, shape, bytes }: Stored, axis: number): Stored {
  const count = shape[axis]!;
  const more = bytes.subarray(0, (bytes.length / count) * (VOCABULARY - count));
  return { dtype, shape: shape.with(axis, VOCABULARY), bytes: Buffer.concat([bytes, more]) };
}
