// Sizes of a browser's download for the package and for the page: raw, gzip and brotli. Fails above the limit. The code
// of training (with the check of a GPU), of lessons and microscope, of documents, and of tokenizers that Hugging Face's library
// reads are downloads of their own.
//
//   node web/scripts/sizes.js [FOLDER=LIMIT …]      a limit is in bytes of gzip for wasm and JavaScript together
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const WEB = dirname(dirname(fileURLToPath(import.meta.url)));
const LIMIT = 1_068_900;
/** Files that count against the limit; the rest is only listed. */
const CODE = ['.js', '.mjs', '.wasm'];
const SHOWN = [...CODE, '.css', '.html', '.svg', '.webmanifest'];
/** The model is data, and the same for both. Node's files never reach a browser. */
const isLeftOut = (name) => name.startsWith('model/') || /(^|\/)(node|worker-node|translator-api-node)\b/.test(name);

/** Code that is downloaded when it is first used. Each has a limit of its own. */
const LATER = [
  { name: 'of training', files: /(^|\/)([Tt]rain|check|wordloom_web_train)/, limit: 1_500_000 },
  { name: 'of lessons and microscope', files: /(^|\/)(Lessons|Microscope)-/, limit: 20_000 },
  { name: 'of tokenizers', files: /(^|\/)((browser-|node-)?fast-tokenizer|wordloom_web_tokenizer)/, limit: 820_000 },
  { name: 'of documents', files: /(^|\/)(document|wordloom_web_documents)/, limit: 600_000 },
];
/** Sizes by the digest of the content. */
const compressed = new Map();
const isLater = (name) => LATER.some(({ files }) => files.test(name));

const asked = process.argv.slice(2).map((argument) => argument.split('='));
const folders = asked.length > 0 ? asked : [[join(WEB, 'dist'), LIMIT], [join(WEB, '../cli/site'), LIMIT]];
for (const [folder, limit] of folders) {
  if (!measure(folder, Number(limit))) process.exitCode = 1;
}

function measure(folder, limit) {
  const files = readdirSync(folder, { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => SHOWN.includes(extname(name)) && !isLeftOut(name) && statSync(join(folder, name)).isFile())
    .map((name) => ({ name, ...sizes(readFileSync(join(folder, name))) }))
    .sort((one, other) => other.gzip - one.gzip);
  const code = files.filter(({ name }) => CODE.includes(extname(name)));
  const sum = (name, of) => {
    const total = (key) => of.reduce((bytes, file) => bytes + file[key], 0);
    return { name, raw: total('raw'), gzip: total('gzip'), brotli: total('brotli') };
  };
  const total = sum('wasm and JavaScript', code.filter(({ name }) => !isLater(name)));
  const later = LATER.map((part) => ({ ...sum(part.name, code.filter(({ name }) => part.files.test(name))), limit: part.limit }));

  const rows = [...files, total, ...later.filter(({ raw }) => raw > 0)];
  const width = Math.max(...rows.map(({ name }) => name.length));
  const row = (name, ...columns) => `    ${name.padEnd(width)} ${columns.map((c) => c.padStart(10)).join('')}`;
  console.log(row(folder.split(/[\\/]/).at(-1), 'raw', 'gzip', 'brotli'));
  for (const { name, raw, gzip, brotli } of rows) {
    console.log(row(name, ...[raw, gzip, brotli].map((bytes) => bytes.toLocaleString('en'))));
  }
  const wasm = code.some(({ name }) => name.endsWith('.wasm') && !isLater(name));
  const tooMuch = total.gzip > limit || later.some((part) => part.gzip > part.limit);
  const verdict = !wasm ? 'there is no wasm module' : tooMuch ? 'too much' : '';
  console.log(`    at most ${limit.toLocaleString('en')} gzip: ${verdict === '' ? 'ok' : `FAILED, ${verdict}`}\n`);
  return verdict === '';
}

/** Package and page have the same modules, whose compression takes seconds. */
function sizes(bytes) {
  const digest = createHash('sha256').update(bytes).digest('hex');
  const known = compressed.get(digest);
  if (known !== undefined) return known;
  const gzip = gzipSync(bytes, { level: 9 }).length;
  const sizes = { raw: bytes.length, gzip, brotli: brotliCompressSync(bytes).length };
  compressed.set(digest, sizes);
  return sizes;
}
