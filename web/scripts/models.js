// The models of ours: packages in `models/` with 8-bit weights, the default one first.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../models/', import.meta.url));
const DEFAULT = 'tatoeba-en-de-q8';
const others = readdirSync(FOLDER).filter((name) => name.endsWith('-q8') && name !== DEFAULT);

/** Their folders. */
export const MODELS = [DEFAULT, ...others.sort()].map((name) => join(FOLDER, name));

export const LICENCE = 'CC-BY-2.0-FR';

/** A model's name, such as `tatoeba-en-de`. @param {string} folder */
export function nameOf(folder) {
  return basename(folder).replace(/-q8$/, '');
}

/** The files that a translator reads, with sizes and SHA-256. @param {string} folder */
export function filesOf(folder) {
  // not `expected.json`, which is for tests
  const names = readdirSync(folder).filter((name) => /\.(json|safetensors|spm)$/.test(name) && name !== 'expected.json');
  return names.sort().map((name) => {
    const content = readFileSync(join(folder, name));
    return { name, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
  });
}
