// Wordloom as an engine of a bench of browser engines (docs/performance.md, "In a browser"): the published npm package,
// served at /wordloom/, with a model folder at /models/NAME/. variant: webgpu-fp32, wasm-fp32, and -q8.
import { measure } from './measure.js';

export async function run(workload, { model, variant }) {
  const times = {};
  let start = performance.now();
  // the bench serves web/dist here
  const { Translator } = await import('/wordloom/core.js');
  times.importMs = performance.now() - start;
  const [device, weights] = variant.split('-');
  start = performance.now();
  const translator = await Translator.create({
    model: `/models/${model}/`,
    device: { webgpu: 'gpu', wasm: 'cpu' }[device],
    weights: { fp32: 'f32', fp16: 'f16', q8: 'q8' }[weights],
    cache: 'none',
    // The counters of WebGPU calls exist in this page only, because a worker has its own prototypes.
    worker: !('gpuCounts' in globalThis),
  });
  times.loadMs = performance.now() - start;
  const { info } = translator;
  const generate = (rows, newTokens, beams) =>
    translator.generate(
      rows.map((inputIds) => ({
        inputIds,
        beams,
        minNewTokens: newTokens,
        maxNewTokens: newTokens,
        lengthPenalty: 1,
        earlyStopping: false,
      })),
    );
  const engine = {
    vocab: info.model.targetVocabulary,
    // The API has no call for the encoder alone. One token needs a little more: the keys and values of cross-attention, and
    // one step of the decoder.
    encode: (rows) => generate(rows, 1, 1),
    async generate(rows, { newTokens, beams }) {
      const [{ sequences }] = await generate(rows, newTokens, beams);
      return sequences[0].slice(1); // without the start token
    },
  };
  const cases = await measure(engine, workload);
  const memory = await translator.memory();
  translator.destroy();
  return { engine: 'wordloom', model, variant, threads: 1, device: info.device, memory, times, cases };
}
