/** PyTorch's files of the model `marian_tied`, which are stored without the bytes of their tensors (`tests/data/make_pickles.py`). */
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTensors } from './safetensors.ts';

const DATA = fileURLToPath(new URL('../../../tests/data/', import.meta.url));
const MODEL = join(DATA, 'models/marian_tied');

interface Gaps {
  length: number;
  gaps: { at: number; bytes: number; from: string }[];
}

/** The file as torch wrote it. */
function complete(name: string): Buffer {
  const cut = readFileSync(join(DATA, `pickles/${name}.cut`));
  const { length, gaps } = JSON.parse(readFileSync(join(DATA, `pickles/${name}.gaps.json`), 'utf8')) as Gaps;
  const tensors = readTensors(join(MODEL, 'model.safetensors'));
  const whole = Buffer.alloc(length);
  let [written, read] = [0, 0];
  for (const { at, bytes, from } of gaps) {
    read += cut.copy(whole, written, read, read + at - written);
    written = at + tensors.get(from)!.bytes.copy(whole, at, 0, bytes);
  }
  cut.copy(whole, written, read);
  return whole;
}

/** A folder of `marian_tied` with files of weights of other names: pairs of a name and that of a fixture. */
export async function pickled(weights: [name: string, fixture: string][]): Promise<string> {
  const target = await mkdtemp(join(tmpdir(), 'wordloom-pickles-'));
  for (const name of readdirSync(MODEL)) {
    if (/\.(json|spm)$/.test(name) && !name.startsWith('expected')) copyFileSync(join(MODEL, name), join(target, name));
  }
  for (const [name, fixture] of weights) writeFileSync(join(target, name), complete(fixture));
  if (weights.length > 1) copyFileSync(join(DATA, 'pickles/pytorch_model.bin.index.json'), join(target, 'pytorch_model.bin.index.json'));
  return target;
}
