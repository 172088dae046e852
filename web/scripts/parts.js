// What a wasm module with names is made of: bytes of each crate, of each module of the library, and of the data.
//
//   node web/scripts/parts.js MODULE.wasm [--functions PART]      with --functions, the largest functions of a part
//
// A part's gzip is its share of the module's gzip: parts are compressed alone, and the sums are scaled to the whole.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const SHADERS = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'shaders');
const [IMPORT, CODE, DATA, CUSTOM] = [2, 10, 11, 0];
/** Parts below this many bytes are one line. */
const SMALL = 4000;

const [file, option, asked] = process.argv.slice(2);
if (file === undefined || (option !== undefined && (option !== '--functions' || asked === undefined))) {
  console.error('usage: node web/scripts/parts.js MODULE.wasm [--functions PART]');
  process.exit(2);
}
const bytes = readFileSync(file);
const sections = sectionsOf(bytes);
const functions = functionsOf(sections);
if (option === '--functions') largest(functions, asked);
else table([...grouped(functions), ...dataParts(sections)]);

/** A reader of WebAssembly's binary format (https://webassembly.github.io/spec/core/binary). */
function reader(at, end) {
  return {
    more: () => at < end,
    place: () => at,
    byte: () => bytes[at++],
    number() {
      let [value, scale] = [0, 1];
      for (;;) {
        const byte = bytes[at++];
        value += (byte & 0x7f) * scale;
        if (byte < 0x80) return value;
        scale *= 0x80;
      }
    },
    take(length) {
      at += length;
      return bytes.subarray(at - length, at);
    },
    text() {
      return this.take(this.number()).toString();
    },
  };
}

function sectionsOf() {
  const input = reader(8, bytes.length);
  const found = [];
  while (input.more()) {
    const id = input.byte();
    const length = input.number();
    const from = input.place();
    input.take(length);
    found.push({ id, from, end: from + length });
  }
  return found;
}

function functionsOf(sections) {
  const names = namesOf(sections);
  if (names.size === 0) throw new Error(`${file} has no names: build it with wasm-opt --debuginfo`);
  const section = sections.find(({ id }) => id === CODE);
  const input = reader(section.from, section.end);
  const first = importedFunctions(sections);
  return Array.from({ length: input.number() }, (_, index) => {
    const body = input.take(input.number());
    return { name: names.get(first + index) ?? '', body };
  });
}

function importedFunctions(sections) {
  const section = sections.find(({ id }) => id === IMPORT);
  if (section === undefined) return 0;
  const input = reader(section.from, section.end);
  let functions = 0;
  for (let left = input.number(); left > 0; left--) {
    input.text();
    input.text();
    const kind = input.byte();
    if (kind === 0) {
      functions++;
      input.number();
    } else if (kind === 3) {
      input.take(2); // a global: its type, and whether it changes
    } else {
      if (kind === 1) input.byte(); // a table: its type, then limits as of a memory
      const limits = input.byte();
      input.number();
      if ((limits & 1) === 1) input.number();
    }
  }
  return functions;
}

function namesOf(sections) {
  const names = new Map();
  for (const { id, from, end } of sections) {
    const input = reader(from, end);
    if (id !== CUSTOM || input.text() !== 'name') continue;
    while (input.more()) {
      const kind = input.byte();
      const length = input.number();
      const next = input.place() + length;
      if (kind === 1) {
        for (let left = input.number(); left > 0; left--) names.set(input.number(), input.text());
      }
      input.take(next - input.place());
    }
  }
  return names;
}

/** `wordloom::graph`, or another crate's name. A method belongs to its type, if that is not the standard library's. */
function partOf(name) {
  const paths = [...name.matchAll(/(?<![\w:])([a-z]\w*)(?:\[\w+\])?::(\w+)/g)].map(([, crate, module]) => ({ crate, module }));
  const standard = ['core', 'alloc', 'std', 'hashbrown', 'compiler_builtins', 'dlmalloc', 'std_detect'];
  const own = paths.find(({ crate }) => !standard.includes(crate)) ?? paths[0];
  if (own === undefined) return 'exported functions';
  if (own.crate === 'wordloom') return `wordloom::${own.module}`;
  return standard.includes(own.crate) ? 'standard library' : own.crate;
}

function grouped(functions) {
  const parts = new Map();
  for (const { name, body } of functions) {
    const part = partOf(name);
    parts.set(part, [...(parts.get(part) ?? []), body]);
  }
  return [...parts].map(([name, bodies]) => ({ name, content: Buffer.concat(bodies) }));
}

/** The text of shaders, and all other constants. */
function dataParts(sections) {
  const section = sections.find(({ id }) => id === DATA);
  let rest = bytes.subarray(section.from, section.end);
  const shaders = [];
  const texts = readdirSync(SHADERS, { recursive: true })
    .filter((name) => name.endsWith('.wgsl'))
    .map((name) => Buffer.from(codeOf(readFileSync(join(SHADERS, name), 'utf8'))))
    .sort((one, other) => other.length - one.length);
  for (const text of texts) {
    const kept = [];
    let from = 0;
    for (let at = rest.indexOf(text); at >= 0; at = rest.indexOf(text, from)) {
      kept.push(rest.subarray(from, at));
      shaders.push(text);
      from = at + text.length;
    }
    rest = Buffer.concat([...kept, rest.subarray(from)]);
  }
  return [
    { name: 'data: shaders', content: Buffer.concat(shaders) },
    { name: 'data: other constants', content: rest },
  ];
}

/** A shader as the library has it: without comments and indentation (`src/kernels/wgsl.rs`). */
function codeOf(text) {
  return text.replace(/\/\/[^\n]*/g, '').replace(/^ +/gm, '');
}

function table(parts) {
  const whole = gzipSync(withoutNames(), { level: 9 }).length;
  const sized = parts.map(({ name, content }) => ({
    name,
    raw: content.length,
    gzip: gzipSync(content, { level: 9 }).length,
  }));
  const scale = whole / sized.reduce((sum, { gzip }) => sum + gzip, 0);
  const large = sized.filter(({ raw }) => raw >= SMALL);
  const small = sized.filter(({ raw }) => raw < SMALL);
  const sum = (of, rows) => rows.reduce((total, row) => total + row[of], 0);
  large.sort((one, other) => other.gzip - one.gzip);
  large.push({ name: `${small.length} smaller parts`, raw: sum('raw', small), gzip: sum('gzip', small) });
  const width = Math.max(...large.map(({ name }) => name.length));
  const kilobytes = (count) => (count / 1000).toFixed(1).padStart(10);
  console.log(`    ${'kB'.padEnd(width)}${'raw'.padStart(10)}${'gzip'.padStart(10)}`);
  for (const { name, raw, gzip } of large) {
    console.log(`    ${name.padEnd(width)}${kilobytes(raw)}${kilobytes(gzip * scale)}`);
  }
  console.log(`    ${'the module'.padEnd(width)}${kilobytes(withoutNames().length)}${kilobytes(whole)}`);
}

/** The module as it is published. */
function withoutNames() {
  return Buffer.concat([
    bytes.subarray(0, 8),
    ...sections.filter(({ id }) => id !== CUSTOM).map(({ from, end }) => bytes.subarray(from, end)),
  ]);
}

function largest(functions, part) {
  const rows = functions.filter(({ name }) => partOf(name) === part).sort((a, b) => b.body.length - a.body.length);
  for (const { name, body } of rows.slice(0, 60)) console.log(`${String(body.length).padStart(8)}  ${name}`);
}
