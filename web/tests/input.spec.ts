/** Wrong input in Node: an error with a kind names what is wrong, nothing is ignored, and the engine goes on. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import type * as Documents from '../ts/documents.ts';
import type * as Wordloom from '../ts/node.ts';
import type * as Train from '../ts/train.ts';
import { BUNDLED_MODEL } from './support/harness.ts';

const of = async <T>(name: string) => (await import(new URL(`../dist/${name}.js`, import.meta.url).href)) as T;
const { describeHubModel, hubName, openTrace, readModelList, removeStoredModel, Translator, WordloomError } = await of<typeof Wordloom>('node');

/** `kind: message` of a call that fails, at once or later. `never` lets a test give what the types forbid. */
async function failure(call: () => unknown): Promise<string> {
  try {
    await call();
    return 'no failure';
  } catch (error) {
    return error instanceof WordloomError ? `${error.kind}: ${error.message}` : `no WordloomError: ${String(error)}`;
  }
}

test('options of create', async () => {
  const create = (options: unknown) => failure(async () => (await Translator.create(options as never)).destroy());
  for (const options of [null, 5, 'models/x', [], () => {}]) {
    expect(await create(options)).toBe('input: The options of create must be an object, such as { model }.');
  }
  expect(await create({ model: '' })).toMatch(/^input: model is an empty text/);
  expect(await create({ model: 'data:,x' })).toBe('input: model is "data:,x", which is no URL of a folder.');
  expect(await create({ model: 'file://host/x' })).toBe('input: model: file://host/x is no URL of a file on this machine.');
  expect(await create({ model: { kind: 'directory' } })).toMatch(/^input: model must be a URL/);
  expect(await create({ model: { name: 'x', urls: null, manifest: {} } })).toMatch(/^input: model\.urls must be an object/);
  expect(await create({ model: { name: 'x', urls: { 'config.json': 'https://x/y' }, manifest: {} } })).toMatch(/^input: x: https:\/\/x\/y is no URL/);
  expect(await create({ manifest: new Map() })).toMatch(/^input: manifest must be an object/);
  for (const [name, value] of [['worker', 'no'], ['update', 'yes'], ['endpoint', null], ['endpoint', 5], ['token', 5], ['token', 'a b'], ['signal', 5]]) {
    expect(await create({ [String(name)]: value })).toMatch(new RegExp(`^input: ${String(name)} (is|must be)`));
  }
  expect(await create({ signal: AbortSignal.abort() })).toBe('aborted: The call was cancelled.');
  expect(await create({ model: 'http://127.0.0.1:1/x', cache: 'required' })).toMatch(/^memory: .*Node keeps downloads in memory only/);
  expect(await failure(() => new (Translator as unknown as new () => unknown)())).toBe('input: A translator comes from `await Translator.create()`.');
});

test('a token of the environment matters to names only', async () => {
  const before = process.env['HF_TOKEN'];
  process.env['HF_TOKEN'] = 'not a token';
  try {
    (await Translator.create()).destroy();
    const named = failure(() => describeHubModel('a/b', { endpoint: 'http://127.0.0.1:1' }));
    expect(await named).toMatch(/^input: token must be a text without spaces/);
  } finally {
    if (before === undefined) delete process.env['HF_TOKEN'];
    else process.env['HF_TOKEN'] = before;
  }
});

test('links that lead nowhere', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wordloom-links-'));
  try {
    for (const without of ['', 'model.safetensors']) {
      const model = join(folder, `without-${without}`);
      mkdirSync(model);
      for (const name of readdirSync(BUNDLED_MODEL)) symlinkSync(name === without ? '/nowhere' : join(BUNDLED_MODEL, name), join(model, name));
      symlinkSync('/nowhere', join(model, 'notes.txt'));
      const opened = await failure(async () => (await Translator.create({ model })).destroy());
      expect(opened).toMatch(without === '' ? /^no failure$/ : /^input: .*there is no "model\.safetensors"/);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('arguments of calls, after which the engine goes on', async () => {
  const translator = await Translator.create();
  const { sentences } = await translator.translate('I am here.', { beams: 2, nBest: 2 });
  const [sentence] = sentences;
  const { sourceTokens } = sentence!;
  const wrong: [() => unknown, RegExp][] = [
    [() => translator.translate('x', 5 as never), /^input: The options must be an object, and are a number\.$/],
    [() => translator.translate('x', { seed: 5n } as never), /^input: seed is a bigint, which no option is/],
    // these were ignored
    [() => translator.translate('x', { seed: 5 }), /^input: the option "seed" is given; it must be left out, or used with sample/],
    [() => translator.translate('x', { temperature: 0.7 }), /^input: the option "temperature" is given; it must be left out, or used with sample/],
    [() => translator.translate('x', { sample: false, topK: 5 }), /^input: the option "topK" is given; it must be left out/],
    [() => translator.generate({ inputIds: [1, 0], topP: 0.5 }), /^input: the option "topP" is given; it must be left out/],
    [() => translator.searchTree({ sourceTokens, topK: 5 } as never), /^input: searchTree has no "topK"/],
    [() => translator.translate('x', { minLength: 9, maxLength: 8 }), /^input: the option "minLength" is 9; it must be at most maxLength, which is 8/],
    [() => translator.translate('I am here.', { glossary: 'here = da', sample: true, beams: 1 }), /^input: the option "glossary" is given with sampling; it must be used in a beam search: set sample to false/],
    // no name is offered that is refused
    [() => translator.translate('x', { beam: 4 } as never), /^input: translate has no "beam"; there are beams, (?!.*(inputIds|maxNewTokens)).*seed, .*alignments, .*glossaryMode\.$/],
    [() => translator.translate('x', { inputIds: [1] } as never), /^input: translate has no "inputIds"/],
    [() => translator.translate('x', { onProgress() {} } as never), /^input: translate has no "onProgress"/],
    [() => translator.translate('x', { beams: () => 4 } as never), /^input: beams is a function, which no option is/],
    [() => translator.translate('x', new AbortController().signal as never), /^input: The options must be an object, and are an AbortSignal: give { signal }/],
    [() => translator.measureInputUsage('x', new AbortController().signal as never), /^input: The last argument is an AbortSignal: give { signal }/],
    [() => translator.explain('x', { token: 'x', heads: 1 } as never), /^input: explain has no "heads"; there are token, (?!.*glossary).*beams, /],
    [() => translator.searchTree({ sourceTokens, beam: 4 } as never), /^input: searchTree has no "beam"; there are sourceTokens, prefix, beams, (?!.*(seed|topK|sample|padTokenId)).*signal\.$/],
    [() => translator.generate({ inputIds: [1, 0], beam: 4 } as never), /^input: there is no option "beam"; there are beams, .*maxNewTokens/],
    [() => translator.generate({ inputIds: [1, 0], onProgress() {} } as never), /^input: onProgress is a function, which no option is/],
    [() => translator.positions('3' as never), /^input: count must be a whole number from 0 on, and is "3"\.$/],
    [() => translator.translate('I am here.', { attention: { sentence: 3 } }), /^input: attention\.sentence is 3; they count from 0, and the text has 1\./],
    [() => translator.generate({ inputIds: [1, 2, 0] }, { beams: 4 } as never), /^input: The last argument has no "beams"; there is only signal\.$/],
    [() => translator.detokenize([1], { skipSpecialToken: false } as never), /^input: The last argument has no "skipSpecialToken"/],
    [() => translator.detokenize([1], { skipSpecialTokens: 'no' } as never), /^input: skipSpecialTokens is "no"/],
    [() => translator.mute([5] as never), /^input: heads\[0\] must be a string/],
    [() => translator.swapAttention(5 as never), /^input: choice must be a string/],
    [() => translator.setSwitches(null as never), /^input: switches must be a string, and is null/],
    [() => translator.explain(null as never, { token: 0 }), /^input: The first argument must be a text/],
    [() => translator.explain({ sentence: sentence!, hypothesis: 7 }, { token: 0 }), /^input: The first argument has no hypothesis 7; there are 2/],
    [() => translator.searchTree({ sourceTokens, sample: true } as never), /^input: sample is true, but samples have no tree/],
    [() => translator.trace({ sentences: [null] } as never), /^input: sentences\[0\] must be an object/],
    [() => translator.trace({ sentences: [{ sentence: { ...sentence!, sourceTokens: [null] } }] } as never), /^input: sentences\[0\] has no sentence/],
    [() => Translator.availability(null as never), /^input: The pair must be an object/],
    [() => Translator.availability({ source: 'en' } as never), /^input: The pair has no "source"/],
    [() => hubName(5 as never), /^input: text must be a string/],
    [() => removeStoredModel(5 as never), /^input: id must be a string/],
    [() => readModelList('data:,x', { signal: 5 } as never), /^input: signal is no AbortSignal/],
    [() => describeHubModel(null as never), /^input: "null" is no name of the hub/],
    [() => describeHubModel('a/b', { device: 'cpu' } as never), /^input: The last argument has no "device"/],
    [() => openTrace(new Blob(['{}']), { worker: 1 } as never), /^input: worker is "1"/],
  ];
  for (const [call, message] of wrong) expect(await failure(call)).toMatch(message);
  // `null` is not set
  const { attention } = await translator.translate('I am here.', { attention: { layer: null, head: null, sentence: null } as never });
  expect([attention!.kind, attention!.layer, attention!.head]).toEqual(['cross', 'mean', 'mean']);
  // what is off without sampling changes nothing
  expect((await translator.translate('Thanks.', { temperature: 1, topP: 1, topK: 50 })).text).toBe('Danke.');
  // this asked for more memory than there is, which ended the engine
  const trace = await translator.trace({ sentences: [{ sentence: sentence! }], alternatives: 1e9 });
  expect(trace.sentences[0]!.targetTokens.at(-1)!.alternatives).toHaveLength(12_000);
  expect((await translator.translate('Thanks.')).text).toBe('Danke.');
  translator.destroy();
});

test('a stream whose consumer leaves, and a signal that is none', async () => {
  const translator = await Translator.create();
  const wrong = translator.translateStreaming('Thanks.', { signal: 5 as never });
  expect(await failure(() => wrong.next())).toBe('input: signal is no AbortSignal.');
  const left = translator.translateStreaming('Thank you. '.repeat(50));
  await left.next();
  await left.return!();
  // the abort of the call arrives later
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await left.next()).toEqual({ done: true, value: undefined });
  translator.destroy();
});

test('arguments of a trace', async () => {
  const translator = await Translator.create();
  const { sentences } = await translator.translate('I am here.');
  const trace = await translator.trace({ sentences: sentences.map((sentence) => ({ sentence })) });
  const paint = (view: object) => trace.paint({ kind: 'cross' }, { width: 8, height: 8, cell: [1, 1], ...view });
  const wrong: [() => unknown, RegExp][] = [
    // these trapped in the wasm module, which ended the engine
    [() => trace.colours(undefined as never), /^input: name is "undefined"; it can be viridis/],
    [() => trace.colours(5 as never), /^input: name is "5"/],
    [() => trace.file('npz', { sentence: 1 }), /^input: There is no sentence 1; the trace has 1/],
    [() => trace.file('npz', 5 as never), /^input: The last argument must be an object/],
    [() => trace.statistics({} as never), /^input: kind is "undefined"; it can be encoder, decoder, cross/],
    [() => trace.explain({ query: 0, sentence: 9 }), /^input: There is no sentence 9/],
    [() => trace.paint({ kind: 'cross', layer: 0, head: 'all' } as never, { width: 8, height: 8, cell: [1, 1] }), /^input: A picture of all heads needs/],
    [() => paint({ width: undefined }), /^input: view\.width is missing; it must be a whole number/],
    [() => paint({ cell: [1] }), /^input: view\.cell is "1"; it must be a list of two numbers/],
    [() => paint({ origin: [NaN, 0] }), /^input: view\.origin is/],
    [() => paint({ rows: 'all' }), /^input: view\.rows is "all"/],
    [() => paint({ background: [256, 0, 0, 0] }), /^input: view\.background is/],
    [() => paint({ scale: null }), /^input: view\.scale is "null"; it can be linear/],
    [() => paint({ colour: 'magma' }), /^input: view has no "colour"/],
  ];
  for (const [call, message] of wrong) expect(await failure(call)).toMatch(message);
  expect((await paint({ rows: Infinity })).rgba.length).toBe(8 * 8 * 4);
  const none = await translator.trace({ sentences: [] });
  expect((await none.file('json')).length).toBeGreaterThan(0);
  const alone = await openTrace(await trace.file('json'));
  alone.close();
  expect(await failure(() => alone.map({ kind: 'cross' }))).toBe('aborted: The trace was closed.');
  trace.close();
  expect(await failure(() => trace.map({ kind: 'cross' }))).toBe('input: This trace is closed.');
  translator.destroy();
});

test('entries for browsers: their arguments, and one class of errors', async () => {
  const [{ translateDocument }, { Trainer }] = [await of<typeof Documents>('documents'), await of<typeof Train>('train')];
  const file = { name: 'a.md', data: new Uint8Array() };
  const translator = { translate() {} } as never;
  const wrong: [() => unknown, RegExp][] = [
    [() => translateDocument(null as never, file), /^input: The translator is no translator/],
    [() => translateDocument(translator, file, { via: {} } as never), /^input: via\.translator is no translator/],
    [() => translateDocument(translator, file, { columns: 'a' } as never), /^input: columns must be a list/],
    [() => translateDocument(translator, file, { columns: ['a'] }), /^input: columns are those of a table \(\.csv, \.tsv\), and a\.md is none/],
    [() => translateDocument(translator, file, { nBest: 2 } as never), /^input: A document takes no nBest/],
    [() => translateDocument(translator, file), /^unsupported: Documents are translated in browsers only/],
    [() => Trainer.create(null as never), /^input: The argument of create must be an object/],
    [() => Trainer.create({ pairs: [5] } as never), /^input: pairs must be a list/],
    [() => Trainer.create({ resume: 5 } as never), /^input: resume must be the files/],
    [() => Trainer.create({ task: 5 } as never), /^input: task must be an object with symbols, shortest/],
    [() => Trainer.create({ model: { width: 8 } } as never), /^input: model has no "width"/],
    [() => Trainer.create({ recipe: { rate: '1' } } as never), /^input: recipe\.rate is "1"; it must be a number/],
    [() => Trainer.create({ recipe: { seed: 1.5 } }), /^input: recipe\.seed is "1\.5"; it must be a whole number from 0 on/],
    [() => Trainer.create({ recipe: { seed: -1 } }), /^input: recipe\.seed is "-1"; it must be a whole number/],
    [() => Trainer.create(), /^unsupported: Training runs in browsers only/],
  ];
  for (const [call, message] of wrong) expect(await failure(call)).toMatch(message);
});
