/** Weights and stored results, and models made from them. */
import { readFileSync, writeFileSync } from 'node:fs';

export interface Stored {
  dtype: string;
  shape: number[];
  bytes: Buffer;
}

export function readTensors(path: string): Map<string, Stored> {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE());
  const header = JSON.parse(file.toString('utf8', 8, start)) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const tensors = new Map<string, Stored>();
  for (const [name, { dtype, shape, data_offsets: place }] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    tensors.set(name, { dtype, shape, bytes: file.subarray(start + place[0], start + place[1]) });
  }
  return tensors;
}

export function writeTensors(path: string, tensors: Map<string, Stored>, metadata?: Record<string, string>): void {
  const header: Record<string, unknown> = metadata === undefined ? {} : { __metadata__: metadata };
  let end = 0;
  for (const [name, { dtype, shape, bytes }] of tensors) {
    header[name] = { dtype, shape, data_offsets: [end, (end += bytes.length)] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const padded = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  writeFileSync(path, Buffer.concat([length, padded, ...[...tensors.values()].map(({ bytes }) => bytes)]));
}

/** The numbers of a tensor of F32 or I32. */
export function numbers({ dtype, bytes }: Stored): number[] {
  const copy = Uint8Array.from(bytes).buffer;
  return dtype === 'F32' ? [...new Float32Array(copy)] : [...new Int32Array(copy)];
}

/** The rows of a matrix. */
export function rows(tensor: Stored): number[][] {
  const [count = 0, width = 0] = tensor.shape;
  const all = numbers(tensor);
  return Array.from({ length: count }, (_, row) => all.slice(row * width, (row + 1) * width));
}
