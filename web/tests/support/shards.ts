import { readFileSync, writeFileSync } from 'node:fs';
import { copyFile, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Header = Record<string, { data_offsets: [number, number] }>;

/** A copy of a model's folder whose weights are in `count` files with an index. */
export async function sharded(folder: string, count: number): Promise<string> {
  const target = await mkdtemp(join(tmpdir(), 'wordloom-shards-'));
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.safetensors')) await copyFile(join(folder, name), join(target, name));
  }
  const whole = readFileSync(join(folder, 'model.safetensors'));
  const headerLength = Number(whole.readBigUInt64LE());
  const header = JSON.parse(whole.toString('utf8', 8, 8 + headerLength)) as Header;
  const data = whole.subarray(8 + headerLength);
  const names = Object.keys(header).filter((name) => name !== '__metadata__');
  const index: Record<string, string> = {};
  for (let shard = 0; shard < count; shard++) {
    const file = `model-0000${shard + 1}-of-0000${count}.safetensors`;
    const part: Header = {};
    const pieces: Buffer[] = [];
    let end = 0;
    for (const name of names.filter((_, at) => at % count === shard)) {
      const tensor = header[name]!;
      const piece = data.subarray(...tensor.data_offsets);
      part[name] = { ...tensor, data_offsets: [end, (end += piece.length)] };
      pieces.push(piece);
      index[name] = file;
    }
    const text = Buffer.from(JSON.stringify(part));
    const padded = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, ' ')]);
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(padded.length));
    writeFileSync(join(target, file), Buffer.concat([length, padded, ...pieces]));
  }
  writeFileSync(join(target, 'model.safetensors.index.json'), JSON.stringify({ weight_map: index }));
  return target;
}
