/** Stored models with vocabularies enlarged for stored tokenizers. Their output has no meaning. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTensors, type Stored, writeTensors } from './safetensors.ts';

const DATA = fileURLToPath(new URL('../../../tests/data/', import.meta.url));

export interface Grown {
  /** A folder of `tests/data/models`. */
  model: string;
  /** Tokens of the tokenizer. */
  vocabulary: number;
  /** From names in the folder to names in `tests/data/tokenizers`. */
  files: Record<string, string>;
  /** JSON files that are written. */
  written?: Record<string, unknown>;
}

/** The folder of such a model. */
export async function grown({ model, vocabulary, files, written = {} }: Grown): Promise<string> {
  const target = await mkdtemp(join(tmpdir(), `wordloom-${model}-`));
  const folder = join(DATA, 'models', model);
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as Record<string, unknown>;
  const tensors = readTensors(join(folder, 'model.safetensors'));
  for (const [name, tensor] of tensors) {
    const axis = tensor.shape.indexOf(Number(config['vocab_size']));
    if (axis >= 0) tensors.set(name, withRows(tensor, axis, vocabulary));
  }
  writeTensors(join(target, 'model.safetensors'), tensors);
  for (const [name, value] of Object.entries({ 'config.json': { ...config, vocab_size: vocabulary }, ...written })) {
    writeFileSync(join(target, name), JSON.stringify(value));
  }
  for (const [name, file] of Object.entries(files)) copyFileSync(join(DATA, 'tokenizers', file), join(target, name));
  return target;
}

/** Rows are repeated: other tokens, but no new weights. */
function withRows({ dtype, shape, bytes }: Stored, axis: number, vocabulary: number): Stored {
  const count = shape[axis]!;
  const rows = Array.from({ length: Math.ceil(vocabulary / count) }, () => bytes);
  return { dtype, shape: shape.with(axis, vocabulary), bytes: Buffer.concat(rows).subarray(0, (bytes.length / count) * vocabulary) };
}
