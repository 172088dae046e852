/** The archive for NumPy: its arrays, and the sums that other programs check. */
import { crc32 } from 'node:zlib';
import { expect, test } from '@playwright/test';
import { unzipSync } from 'fflate';
import type * as Wordloom from '../ts/node.ts';

const { Translator } = (await import(new URL('../dist/node.js', import.meta.url).href)) as typeof Wordloom;

test('an archive of stored arrays', async () => {
  const translator = await Translator.create();
  const { sentences } = await translator.translate('Thank you.');
  const trace = await translator.trace({ sentences: sentences.map((sentence) => ({ sentence })) });
  const bytes = await trace.file('npz');
  translator.destroy();
  const files = unzipSync(bytes);
  const names = Object.keys(files);
  expect(names.slice(0, 2)).toEqual(['source_tokens.npy', 'target_tokens.npy']);
  for (const kind of ['encoder', 'decoder', 'cross']) expect(names).toContain(`${kind}.0.npy`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - 22;
  expect(view.getUint32(end, true)).toBe(0x06054b50);
  expect(view.getUint16(end + 10, true)).toBe(names.length);
  let at = view.getUint32(end + 16, true);
  for (const name of names) {
    const file = files[name]!;
    expect(new TextDecoder().decode(file.subarray(1, 6))).toBe('NUMPY');
    expect(view.getUint32(at, true)).toBe(0x02014b50);
    const local = view.getUint32(at + 42, true);
    expect([view.getUint32(at + 16, true), view.getUint32(local + 14, true)]).toEqual([crc32(file), crc32(file)]);
    expect([view.getUint32(at + 24, true), view.getUint32(local + 22, true)]).toEqual([file.length, file.length]);
    at += 46 + name.length;
  }
  expect(at).toBe(end);
});
