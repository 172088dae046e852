/** The typed API in a browser: what it answers, and that it can be stopped. */
import { expect, test } from './support/harness.ts';

const STATION = 'Where is the train station?';

test('translates with the bundled model', async ({ api }) => {
  const result = await api.evaluate(async (text) => {
    const stages: string[] = [];
    const translator = await wordloom.Translator.create({ device: 'cpu', onProgress: ({ stage }) => stages.push(stage) });
    const { text: translated } = await translator.translate(text);
    const usage = await translator.measureInputUsage(text);
    translator.destroy();
    return { translated, usage, stages, info: translator.info, quota: translator.inputQuota };
  }, STATION);
  expect(result.translated).toBe('Wo ist der Bahnhof?');
  expect(result.info.device.kind).toBe('cpu');
  expect(result.info.model.label).toBe('the bundled model');
  expect(result.usage).toBe(7);
  expect(result.quota).toBe(Infinity);
  expect([...new Set(result.stages)]).toEqual(['download', 'device', 'weights', 'ready']);
});
