/** `models.json` is a stranger's file: every field is checked, and an odd entry is left out alone. */
import { expect, test } from '@playwright/test';
import { parseModelList } from '../ts/model-list.ts';

const HERE = new URL('https://example.org/translate/models.json');
const SUM = 'a'.repeat(64);
const good = {
  name: 'opus-mt-en-fr',
  family: 'marian',
  pairs: [['en', 'fr']],
  bytes: 12,
  licence: 'CC-BY-4.0',
  url: 'models/opus-mt-en-fr/',
  files: { 'config.json': { bytes: 5, sha256: SUM }, 'model.safetensors': { bytes: 7, sha256: SUM } },
};
const parse = (value: unknown) => parseModelList(new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)), HERE);
const list = (...models: unknown[]) => parse({ version: 1, models });

test('a list is read', () => {
  const { models, skipped } = list(good, { ...good, url: 'https://cdn.example.net/a', pairs: [], languages: ['deu_Latn', 'en'] });
  expect(skipped).toEqual([]);
  expect(models[0]).toEqual({
    name: 'opus-mt-en-fr',
    family: 'marian',
    licence: 'CC-BY-4.0',
    pairs: [['en', 'fr']],
    languages: [],
    bytes: 12,
    url: 'https://example.org/translate/models/opus-mt-en-fr/',
    manifest: { 'config.json': SUM, 'model.safetensors': SUM },
  });
  expect(models[1]).toMatchObject({ url: 'https://cdn.example.net/a/', languages: ['deu_Latn', 'en'] });
});

test('a Firefox model has files of its own, and no configuration', () => {
  const files = (...names: string[]) => Object.fromEntries(names.map((name) => [name, { bytes: 4, sha256: SUM }]));
  const firefox = { ...good, family: 'firefox', files: files('model.enfr.intgemm.alphas.bin', 'vocab.enfr.spm', 'lex.50.50.enfr.s2t.bin') };
  expect(list(firefox).models[0]).toMatchObject({ family: 'firefox', bytes: 12 });
  const without = { ...firefox, files: files('vocab.enfr.spm'), bytes: 4 };
  expect(list(without).skipped).toEqual(['models[0]: "files" has no config.json']);
});

test('a file that is no list is refused', () => {
  expect(() => parse('<!doctype html>')).toThrow('models.json is no list of models: it is not JSON');
  expect(() => parse('\uFFFE')).toThrow('no list of models');
  for (const [value, words] of [
    [[], 'it is not an object'],
    [null, 'it is not an object'],
    [{ version: 2, models: [] }, '"version" is 2; this program reads 1'],
    [{ version: 1 }, '"models" is not a list'],
    [{ version: 1, models: Array(1001).fill(good) }, 'it has 1001 models'],
  ] as const) {
    expect(() => parse(value)).toThrow(words);
  }
});

test('an odd entry is left out, and the others stay', () => {
  const files = (files: unknown, bytes = 12) => ({ ...good, files, bytes });
  const config = { 'config.json': { bytes: 5, sha256: SUM } };
  const odd: [unknown, string][] = [
    ['text', 'it is not an object'],
    [{ ...good, name: 7 }, '"name" is 7'],
    [{ ...good, name: ' ' }, '"name" is " "'],
    [{ ...good, name: 'a'.repeat(101) }, '"name"'],
    [{ ...good, name: 'a\u202Eb' }, '"name"'],
    [{ ...good, licence: undefined }, '"licence" is missing'],
    [{ ...good, family: {} }, '"family"'],
    [{ ...good, pairs: undefined }, 'neither "pairs" nor "languages"'],
    [{ ...good, pairs: 'en-fr' }, '"pairs" is "en-fr"; it must be a list'],
    [{ ...good, pairs: [['en']] }, 'which is no pair of languages'],
    [{ ...good, pairs: [['en', '<img src=x>']] }, 'is no code of a language'],
    [{ ...good, pairs: Array(2001).fill(['en', 'fr']) }, 'at most 2000'],
    [{ ...good, languages: ['en', 4] }, '4 is no code of a language'],
    [{ ...good, bytes: 13 }, '"bytes" is 13, and its files have 12'],
    [{ ...good, bytes: -1 }, '"bytes" is -1'],
    [files([]), '"files" is []'],
    [files({}), 'no config.json'],
    [files({ ...config, '../x': { bytes: 7, sha256: SUM } }), 'no name of a file'],
    [files({ ...config, '.x': { bytes: 7, sha256: SUM } }), 'no name of a file'],
    [files({ 'config.json': { bytes: 1.5, sha256: SUM } }), '"bytes" of config.json is 1.5'],
    [files({ 'config.json': { bytes: 1e300, sha256: SUM } }), '"bytes" of config.json'],
    [files({ 'config.json': { bytes: 12, sha256: 'abc' } }), '"sha256" of config.json'],
    [files(Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`f${index}`, 0]))), 'at most 200'],
    ...['../other/', '/elsewhere/', '//evil.example/x/', 'http://evil.example/', 'javascript:alert(1)', 'data:,x', 'https://a:b@c/', 'x/?q', 'x/#h', 'https://['].map(
      (url) => [{ ...good, url }, '"url" is'] as [unknown, string],
    ),
    [{ ...good, url: 7 }, '"url" is 7'],
  ];
  const { models, skipped } = list(...odd.map(([entry]) => entry), good);
  expect(models).toHaveLength(1);
  odd.forEach(([, words], index) => {
    expect(skipped[index]).toContain(`models[${index}]: `);
    expect(skipped[index]).toContain(words);
  });
});
