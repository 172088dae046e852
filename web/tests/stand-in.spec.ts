/** `wordloom/translator-api`: the stand-in for the browser's own Translator API. */
import { expect, test } from './support/harness.ts';

test('translates as the browser would', async ({ api, server }) => {
  const result = await api.evaluate(async () => {
    const { Translator } = standIn;
    const pair = { sourceLanguage: 'en-gb', targetLanguage: 'de' };
    const before = await Translator.availability(pair);
    const progress: number[] = [];
    let total = 0;
    const creating = Translator.create({
      ...pair,
      monitor(monitor) {
        monitor.addEventListener('downloadprogress', (event) => {
          progress.push(event.loaded);
          total = event.total;
        });
      },
    });
    const during = await Translator.availability(pair);
    const translator = await creating;
    const text = 'I have a dog. It is very old.';
    const whole = await translator.translate(text);
    const pieces: string[] = [];
    for await (const piece of translator.translateStreaming(text) as unknown as AsyncIterable<string>) pieces.push(piece);
    const usage = await translator.measureInputUsage(text);
    const none = translator as unknown as Record<'translate' | 'measureInputUsage' | 'translateStreaming', () => unknown>;
    const missing = async (call: () => unknown) => Promise.resolve().then(call).then(String, (error: Error) => error.constructor.name);
    const without = [
      await missing(() => none.translate()),
      await missing(() => none.measureInputUsage()),
      await missing(() => none.translateStreaming()),
    ];
    const { sourceLanguage, targetLanguage, inputQuota } = translator;
    translator.destroy();
    const name = (error: Error) => `${error.constructor.name} ${error.name}`;
    const destroyed = await translator.translate('x').catch(name);
    const after = await Translator.availability(pair);
    return {
      before, during, after, progress, total, whole, pieces, usage, without, sourceLanguage, targetLanguage, inputQuota, destroyed,
    };
  });
  expect(result).toMatchObject({
    before: 'downloadable',
    after: 'available',
    total: 1,
    without: ['TypeError', 'TypeError', 'TypeError'],
    sourceLanguage: 'en-GB',
    targetLanguage: 'de',
    inputQuota: Infinity,
    destroyed: 'DOMException AbortError',
  });
  expect(['downloadable', 'downloading']).toContain(result.during);
  expect(result.progress[0]).toBe(0);
  expect(result.progress.at(-1)).toBe(1);
  expect(result.progress).toEqual([...result.progress].sort((a, b) => a - b));
  expect(result.pieces.join('')).toBe(result.whole);
  expect(result.usage).toBeGreaterThan(8);
  expect(server.requestsFor('safetensors').length).toBe(1);
});

test('refuses as the browser would', async ({ api, server }) => {
  server.rules = [{ path: 'config.json', status: 404 }];
  const errors = await api.evaluate(async () => {
    const { Translator } = standIn;
    const name = (error: Error) => `${error.constructor.name} ${error.name}`;
    const create = (options: object) => Translator.create(options as never).then(() => 'created', name);
    const stop = new AbortController();
    const stopped = Translator.create({ sourceLanguage: 'en', targetLanguage: 'de', signal: stop.signal }).catch(
      (error) => error,
    );
    stop.abort('enough');
    return {
      none: await create({}),
      half: await create({ sourceLanguage: 'en' }),
      tag: await create({ sourceLanguage: 'no tag', targetLanguage: 'de' }),
      pair: await create({ sourceLanguage: 'de', targetLanguage: 'en' }),
      network: await create({ sourceLanguage: 'en', targetLanguage: 'de' }),
      stopped: await stopped,
      availability: await Translator.availability({ sourceLanguage: 'fr', targetLanguage: 'de' }),
    };
  });
  expect(errors).toEqual({
    none: 'TypeError TypeError',
    half: 'TypeError TypeError',
    tag: 'RangeError RangeError',
    pair: 'DOMException NotSupportedError',
    network: 'DOMException NetworkError',
    stopped: 'enough',
    availability: 'unavailable',
  });
});
