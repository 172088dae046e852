// Asks the real engine of Firefox's translations what it makes of students:
//
//     node witness.mjs PACKAGE JOBS.json OUT.json
//
// PACKAGE is the unpacked npm package @browsermt/bergamot-translator 0.4.9 (MPL-2.0). JOBS.json is a list of
// {"model": FILE, "vocabularies": [FILE, …], "shortlist": FILE?, "options": {…}, "sentences": […], "record": [...]}.
// Each sentence is translated alone. OUT.json gets, for each job, a list of one object for each sentence:
//
//   text     the translation
//   score    mean of the words' scores, and `words`: their scores (the engine's quality scores, without a quality model)
//   columns  the shortlist's columns that the engine selected ("columns" in "record")
//   ids      the best token of each step of a greedy search ("ids" in "record"), with their
//            log-probabilities, and `margins`: the distances of the best logits from the next ones
//   inputs   the encoder's first input, f32 in base64 ("inputs" in "record"): embeddings and positions
//
// The engine imports its 8-bit matrix products from outside, so that Firefox can replace them. This driver hands in the
// engine's own, and reads columns and logits as they pass by.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import vm from 'node:vm';

const FALLBACKS = {
  int8_prepare_a: 'int8PrepareAFallback',
  int8_prepare_b: 'int8PrepareBFallback',
  int8_prepare_b_from_transposed: 'int8PrepareBFromTransposedFallback',
  int8_prepare_b_from_quantized_transposed: 'int8PrepareBFromQuantizedTransposedFallback',
  int8_prepare_bias: 'int8PrepareBiasFallback',
  int8_multiply_and_add_bias: 'int8MultiplyAndAddBiasFallback',
  int8_select_columns_of_b: 'int8SelectColumnsOfBFallback',
};

/** What the products of one sentence showed. */
const NOTHING = { columns: null, selected: null, inputs: null };
const seen = { ...NOTHING, ids: [], logProbabilities: [], margins: [] };
/** Number of columns of the output projection without a shortlist, and the token that is never chosen. */
let vocabulary = 0;
let unknown = -1;

function products() {
  const { Module } = globalThis;
  const own = Object.fromEntries(
    Object.entries(FALLBACKS).map(([name, fallback]) => [name, (...args) => Module.asm[fallback](...args)]),
  );
  return {
    ...own,
    int8_select_columns_of_b(b, width, columnsOfB, columns, count, output) {
      own.int8_select_columns_of_b(b, width, columnsOfB, columns, count, output);
      seen.columns = Array.from(Module.HEAPU32.subarray(columns / 4, columns / 4 + count));
      seen.selected = output;
    },
    int8_multiply_and_add_bias(...args) {
      own.int8_multiply_and_add_bias(...args);
      const [, , , b, , , , , rows, , columns, output] = args;
      const isOutput = seen.selected === null ? columns === vocabulary : b === seen.selected;
      if (!isOutput || rows !== 1) return;
      const logits = Module.HEAPF32.subarray(output / 4, output / 4 + columns);
      let [best, next] = [-1, -1];
      for (let i = 0; i < columns; i++) {
        if ((seen.columns?.[i] ?? i) === unknown) continue;
        if (best < 0 || logits[i] > logits[best]) [best, next] = [i, best];
        else if (next < 0 || logits[i] > logits[next]) next = i;
      }
      seen.ids.push(seen.columns?.[best] ?? best);
      seen.margins.push(logits[best] - logits[next]);
      const sum = logits.reduce((sum, logit) => sum + Math.exp(logit - logits[best]), 0);
      seen.logProbabilities.push(-Math.log(sum));
    },
    int8_prepare_a(input, scale, zero, rows, width, output) {
      seen.inputs ??= Module.HEAPF32.slice(input / 4, input / 4 + rows * width);
      own.int8_prepare_a(input, scale, zero, rows, width, output);
    },
  };
}

/** Loads the engine into this process, as its own worker does. */
async function engine(folder) {
  const wasm = readFileSync(join(folder, 'worker/bergamot-translator-worker.wasm'));
  const glue = readFileSync(join(folder, 'worker/bergamot-translator-worker.js'), 'utf8');
  globalThis.self = { location: { href: 'file:///' } };
  globalThis.importScripts = () => {};
  return new Promise((accept, reject) => {
    globalThis.Module = {
      print: (text) => console.error(text),
      instantiateWasm(info, done) {
        WebAssembly.instantiate(wasm, { ...info, wasm_gemm: products() }).then(
          ({ instance }) => done(instance),
          reject,
        );
        return {};
      },
      onRuntimeInitialized: () => accept(globalThis.Module),
    };
    vm.runInThisContext(glue);
  });
}

function aligned(module, bytes, alignment) {
  const memory = new module.AlignedMemory(bytes.byteLength, alignment);
  memory.getByteArrayView().set(new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return memory;
}

function load(module, job) {
  const vocabularies = new module.AlignedMemoryList();
  for (const file of job.vocabularies) vocabularies.push_back(aligned(module, readFileSync(file), 64));
  const model = aligned(module, readFileSync(job.model), 256);
  const shortlist = aligned(module, job.shortlist ? readFileSync(job.shortlist) : new Uint8Array(0), 64);
  const options = {
    'beam-size': 1,
    normalize: 1.0,
    'word-penalty': 0,
    'cpu-threads': 0,
    'gemm-precision': 'int8shiftAlphaAll',
    'skip-cost': false,
    alignment: 'soft',
    quiet: true,
    'quiet-translation': true,
    'max-length-break': 128,
    'mini-batch-words': 1024,
    workspace: 128,
    'max-length-factor': 2.0,
    'ssplit-mode': 'sentence',
    ...job.options,
  };
  const yaml = Object.entries(options).map(([key, value]) => `${key}: ${value}\n`);
  return new module.TranslationModel(yaml.join(''), model, shortlist, vocabularies, null);
}

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const unescape = (text) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

function translate(module, service, model, job, sentence) {
  Object.assign(seen, NOTHING, { ids: [], logProbabilities: [], margins: [] });
  const scored = job.record.includes('scores');
  const input = new module.VectorString();
  input.push_back(scored ? escape(sentence) : sentence);
  const options = new module.VectorResponseOptions();
  options.push_back({ qualityScores: scored, alignment: false, html: scored });
  const responses = service.translate(model, input, options);
  const response = responses.get(0);
  const text = response.getTranslatedText();
  for (const object of [response, responses, options, input]) object.delete();
  const result = {};
  if (scored) {
    result.text = unescape(text.replace(/<\/?font[^>]*>/g, ''));
    const numbers = (name) => Array.from(text.matchAll(new RegExp(`${name}="([^"]*)"`, 'g')), ([, value]) => +value);
    result.score = numbers('x-bergamot-sentence-score');
    result.words = numbers('x-bergamot-word-score');
  } else {
    result.text = text;
  }
  if (job.record.includes('columns')) result.columns = seen.columns;
  if (job.record.includes('ids')) {
    const { ids, logProbabilities, margins } = seen;
    Object.assign(result, { ids, log_probabilities: logProbabilities, margins });
  }
  if (job.record.includes('inputs')) result.inputs = Buffer.from(seen.inputs.buffer).toString('base64');
  return result;
}

const [folder, jobsFile, outFile] = process.argv.slice(2);
const module = await engine(resolve(folder));
const service = new module.BlockingService({ cacheSize: 0 });
const results = [];
for (const job of JSON.parse(readFileSync(jobsFile))) {
  ({ vocabulary = 0, unknown = 1 } = job);
  const model = load(module, job);
  const started = performance.now();
  results.push(job.sentences.map((sentence) => translate(module, service, model, job, sentence)));
  console.error(`${job.model}: ${job.sentences.length} sentences in ${Math.round(performance.now() - started)} ms`);
  model.delete();
}
writeFileSync(outFile, JSON.stringify(results));
process.exit(0);
