/** A model in the files of Mozilla's engine, and what that engine makes of a sentence with it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const DATA = new URL('../../../tests/data/firefox/', import.meta.url);

export const FIREFOX_FOLDER = fileURLToPath(new URL('joint', DATA));

interface Case {
  source: string;
  text: string;
}

const expected = JSON.parse(readFileSync(new URL('expected.json', DATA), 'utf8')) as Record<string, Case[]>;

/** In 8 bits, with the shortlist, greedily, as in Firefox. */
export const FIREFOX_CASE = expected['joint, shortlist, greedy']![0]!;

/** Writes the model's files to `folder`, compressed as they are published, and returns their names. */
export function packFirefoxModel(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(FIREFOX_FOLDER).map((name) => {
    writeFileSync(`${folder}/${name}.gz`, gzipSync(readFileSync(`${FIREFOX_FOLDER}/${name}`)));
    return `${name}.gz`;
  });
}
