/** Compiled against the packed package: valid and invalid uses of its types. */
import {
  type AttentionMap,
  describeHubModel,
  type ErrorKind,
  type Generated,
  type HeadStatistics,
  hubName,
  openTrace,
  type Partial,
  readModelList,
  removeStoredModel,
  storedModels,
  Trace,
  type Translation,
  Translator,
  WordloomError,
} from 'wordloom';
import { Translator as Core } from 'wordloom/core';
import { translateDocument } from 'wordloom/documents';
import { Trainer } from 'wordloom/train';
import { Translator as StandIn } from 'wordloom/translator-api';
import german from 'wordloom-model-de-en';

export async function usage(files: FileList, handle: FileSystemDirectoryHandle): Promise<void> {
  const translator: Translator = await Translator.create();
  await Translator.create({ model: 'https://example.org/model/', device: 'gpu', cache: 'required' });
  await Translator.create({ model: new URL('https://example.org/'), manifest: { 'config.json': 'abc' } });
  await Translator.create({ model: 'owner/name@main', endpoint: 'https://example.org', token: 'hf_x', update: true });
  (await describeHubModel('owner/name')).bytes satisfies number | null;
  (await readModelList()).models[0]?.manifest satisfies Record<string, string> | undefined;
  for (const { id, languages } of await storedModels()) if (languages === null) await removeStoredModel(id);
  hubName('owner/name')?.revision satisfies string | undefined;
  await Translator.create({ model: files, worker: false, signal: new AbortController().signal });
  await Translator.create({ model: [...files] });
  await Translator.create({ model: german });
  await Translator.create({
    model: handle,
    onProgress(event) {
      if (event.stage === 'download') event.fileLoaded satisfies number;
      if (event.stage === 'device') event.notice satisfies string;
      // @ts-expect-error only downloads have files
      event.file;
    },
  });
  // @ts-expect-error there is no such device
  await Translator.create({ device: 'npu' });
  // @ts-expect-error there is no such option
  await Translator.create({ modle: 'x' });
  await Core.create({ model: 'owner/name', device: 'cpu' });
  // @ts-expect-error a translator is made by `create`
  new Translator();

  const translation: Translation = await translator.translate('text', { beams: 4, nBest: 2, attention: {} });
  await translator.translate('text', { sourceLanguage: 'eng_Latn', targetLanguage: 'deu_Latn', sample: true, topK: 5 });
  translation.seed satisfies number | undefined;
  translator.info.model.languages.target satisfies string[];
  translation.sentences[0]?.hypotheses[0]?.tokens[0]?.logProbability satisfies number | undefined;
  translation.attention satisfies AttentionMap | undefined;
  translation.sentences[0]?.alignment satisfies [number, number][] | undefined;
  const document: Blob = await translateDocument(translator, { name: 'a.docx', data: new Uint8Array() }, { beams: 1, columns: ['a'] });
  document.size satisfies number;
  // @ts-expect-error a document has one translation
  await translateDocument(translator, new File([], 'a.md'), { nBest: 2 });
  // @ts-expect-error the name is `beams`
  await translator.translate('text', { num_beams: 4 });
  // @ts-expect-error a text is a string
  await translator.translate(7);
  await translator.translate('text', { earlyStopping: 'never' });
  // @ts-expect-error true, false or "never"
  await translator.translate('text', { earlyStopping: 'always' });

  for await (const partial of translator.translateStreaming('text', { signal: AbortSignal.timeout(1) })) {
    partial satisfies Partial;
  }
  const generated: Generated[] = await translator.generate({ inputIds: [1, 2, 0], badWordsIds: [[7]] });
  generated[0]?.sequences satisfies number[][] | undefined;
  // @ts-expect-error token ids are needed
  await translator.generate({ beams: 2 });
  const { logits } = await translator.forward({ inputIds: [[1]], decoderInputIds: [[0]] });
  logits.data satisfies Float32Array;
  const [sentence] = translation.sentences;
  if (sentence) {
    const { sourceTokens, hypotheses } = sentence;
    const map = await translator.attention({ sourceTokens, targetTokens: hypotheses[0]!.tokens, layer: 'mean' });
    map.shape satisfies [number, number];
  }
  const trace: Trace = await translator.trace({ sentences: translation.sentences.map((sentence) => ({ sentence })) });
  const { weights } = await trace.map({ kind: 'encoder', layer: 0 });
  weights satisfies Float32Array;
  const { rgba } = await trace.paint({ kind: 'cross', layer: 'all', head: 'all' }, { width: 8, height: 8, cell: [1, 1] });
  rgba satisfies Uint8ClampedArray;
  // @ts-expect-error one map or all of them
  await trace.map({ kind: 'cross', layer: 'all', head: 'all' });
  (await trace.statistics({ kind: 'decoder' })) satisfies HeadStatistics[];
  (await openTrace(new Blob([await trace.file('safetensors')]))) satisfies Trace;
  trace.close() satisfies void;
  // @ts-expect-error what runs does not change
  translator.info = translator.info;
  translator.inputQuota satisfies number;
  (await translator.measureInputUsage('text')) satisfies number;
  const { steps, sizes } = await translator.explain('text', { token: 'it', kind: 'encoder', layer: 2, head: 4, beams: 1 });
  steps[0]?.numbers[0]?.values satisfies Float32Array | undefined;
  sizes.dK satisfies number;
  await translator.explain({ sentence: translation.sentences[0]!, hypothesis: 1 }, { token: 3, kind: 'cross' });
  // @ts-expect-error a token is needed
  await translator.explain('text', { kind: 'cross' });
  const { nodes, hypotheses: found } = await translator.searchTree({ sourceTokens: [{ id: 0, piece: '' }], prefix: [7] });
  nodes[0]?.fate satisfies 'kept' | 'finished' | 'rejected' | undefined;
  found[0]?.text satisfies string | undefined;
  // @ts-expect-error samples have no tree
  await translator.searchTree({ sourceTokens: [], sample: true });
  await translator.mute(['cross.2.5']);
  await translator.swapAttention('encoder.2=window:8');
  translator.swappedAttention satisfies string;
  await translator.setSwitches('encoder.2.residual=off');
  translator.switches satisfies string;
  // @ts-expect-error the kind comes first
  await translator.mute(['2.5']);
  (await Translator.availability({ sourceLanguage: 'en' })) satisfies string;
  translator.destroy() satisfies void;

  try {
    await translator.translate('text');
  } catch (error) {
    if (error instanceof WordloomError) error.kind satisfies ErrorKind;
  }

  const standIn = await StandIn.create({
    sourceLanguage: 'en',
    targetLanguage: 'de',
    monitor: (monitor) => monitor.addEventListener('downloadprogress', () => {}),
  });
  (await standIn.translate('text')) satisfies string;
  standIn.translateStreaming('text') satisfies ReadableStream<string>;
  // @ts-expect-error both languages are needed, as in browsers
  await StandIn.create({ sourceLanguage: 'en' });
}

export async function training(): Promise<void> {
  const trainer: Trainer = await Trainer.create({ task: 'reverse', model: { heads: 2 }, recipe: { warmup: 100 } });
  await Trainer.create({ pairs: [['a', 'b']], device: 'cpu', signal: new AbortController().signal });
  await Trainer.create({ task: { rule: 'sort', symbols: 8 } });
  trainer.info.options.recipe.warmup satisfies number;
  const { loss } = await trainer.train({ steps: 5, onProgress: ({ step }) => step satisfies number });
  loss satisfies number;
  (await trainer.check({ samples: 2 })).samples[0]?.got satisfies string | undefined;
  (await trainer.attention()).cross[0]?.shape satisfies [number, number, number] | undefined;
  const files = await trainer.save({ state: true });
  await Trainer.create({ resume: files });
  // @ts-expect-error a task and pairs
  await Trainer.create({ resume: files, task: 'copy' });
  // @ts-expect-error there is no such task
  await Trainer.create({ task: 'add' });
  // @ts-expect-error a trainer is made by `create`
  new Trainer();
  trainer.destroy();
}
