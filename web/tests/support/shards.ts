import { writeFileSync } from 'node:fs';
import { copyFile, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTensors, type Stored, writeTensors } from './safetensors.ts';

/** A copy of a model's folder whose weights are in `count` files with an index. */
export async function sharded(folder: string, count: number): Promise<string> {
  const target = await mkdtemp(join(tmpdir(), 'wordloom-shards-'));
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.safetensors')) await copyFile(join(folder, name), join(target, name));
  }
  const whole = [...readTensors(join(folder, 'model.safetensors'))];
  const index: Record<string, string> = {};
  for (let shard = 0; shard < count; shard++) {
    const file = `model-0000${shard + 1}-of-0000${count}.safetensors`;
    const part = new Map<string, Stored>(whole.filter((_, at) => at % count === shard));
    writeTensors(join(target, file), part);
    for (const name of part.keys()) index[name] = file;
  }
  writeFileSync(join(target, 'model.safetensors.index.json'), JSON.stringify({ weight_map: index }));
  return target;
}
