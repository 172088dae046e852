/** The typed API in a browser: results, aborts, and errors for wrong input. */
import { expect, test } from './support/harness.ts';
import { expectWithin } from './support/machine.ts';

const STATION = 'Where is the train station?';

test('translates with the bundled model', async ({ api }) => {
  const result = await api.evaluate(async (text) => {
    const stages: string[] = [];
    const translator = await wordloom.Translator.create({ device: 'cpu', onProgress: ({ stage }) => stages.push(stage) });
    const translation = await translator.translate(text);
    const usage = await translator.measureInputUsage(text);
    const tokenized = await translator.tokenize(text);
    translator.destroy();
    return { translation, usage, tokenized, stages, info: translator.info, quota: translator.inputQuota };
  }, STATION);
  const { translation, info } = result;
  expect(translation.text).toBe('Wo ist der Bahnhof?');
  expect(translation.stats).toMatchObject({ sentences: 1 });
  expect(translation.stats.tokens).toBeGreaterThan(4);
  const [sentence] = translation.sentences;
  expect(sentence!.source).toBe(STATION);
  expect(sentence!.sourceTokens.map(({ piece }) => piece)).toEqual(result.tokenized.tokens);
  const best = sentence!.hypotheses[0]!;
  expect(best.tokens.at(-1)!.piece).toBe('</s>');
  const sum = best.tokens.reduce((total, { logProbability = 0 }) => total + logProbability, 0);
  expect(sum / (best.tokens.length - 1)).toBeCloseTo(best.score, 4);
  expect(info.device.kind).toBe('cpu');
  expect(info.model.label).toBe('the bundled model');
  expect(result.usage).toBe(result.tokenized.ids.length);
  expect(result.quota).toBe(Infinity);
  expect([...new Set(result.stages)]).toEqual(['download', 'device', 'weights', 'ready']);
});

test('weights are kept as asked for', async ({ api }) => {
  const kept = await api.evaluate(async (text) => {
    const results = [];
    for (const weights of ['auto', 'f16', 'q8'] as const) {
      const translator = await wordloom.Translator.create({ device: 'cpu', weights });
      const { weights: now, weightBytes } = translator.info.model;
      results.push({ weights: now, weightBytes, text: (await translator.translate(text)).text });
      translator.destroy();
    }
    return results;
  }, STATION);
  expect(kept.map(({ weights }) => weights)).toEqual(['f32', 'f16', 'q8']);
  expect(kept.map(({ text }) => text)).toEqual(Array(3).fill('Wo ist der Bahnhof?'));
  const [f32, f16, q8] = kept.map(({ weightBytes }) => weightBytes);
  expect(f16! / f32!).toBeLessThan(0.55);
  expect(q8! / f32!).toBeLessThan(0.3);
});

test('several hypotheses, best first', async ({ api }) => {
  const { text, hypotheses } = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    return translator.translate('I would like a cup of coffee, please.', { beams: 4, nBest: 3 });
  });
  expect(hypotheses.map(({ text }) => text)).toEqual([
    'Ich hätte gern eine Tasse Kaffee.',
    'Ich hätte gerne eine Tasse Kaffee.',
    'Ich möchte bitte eine Tasse Kaffee.',
  ]);
  expect(hypotheses[0]!.score).toBeCloseTo(-0.1047, 3);
  expect(text).toBe(hypotheses[0]!.text);
});

test('a search leaves its tree, and goes on from a beginning that it is given', async ({ api }) => {
  const { sentence, tree, forced, wrong } = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const { sentences } = await translator.translate('I would like a cup of coffee, please.', { beams: 4, nBest: 4 });
    const { sourceTokens } = sentences[0]!;
    const tree = await translator.searchTree({ sourceTokens, beams: 4 });
    const rejected = tree.nodes.find(({ step, fate }) => step === 1 && fate === 'rejected')!;
    const forced = await translator.searchTree({ sourceTokens, beams: 4, prefix: [rejected.id] });
    const kinds = async (call: Promise<unknown>) => call.catch((error) => `${error.kind}: ${error.message}`);
    const wrong = [
      await kinds(translator.searchTree({ sourceTokens, prefix: [9_999_999] })),
      await kinds(translator.mute(['cross.3.0'])),
      await kinds(translator.mute(['sideways.0.0' as 'cross.0.0'])),
    ];
    return { sentence: sentences[0]!, tree, forced: { ...forced, id: rejected.id }, wrong };
  });
  const finished = tree.nodes.filter(({ fate }) => fate === 'finished');
  const best = finished.map(({ sum, step, text }) => ({ score: sum / step ** tree.lengthPenalty, text }));
  best.sort((a, b) => b.score - a.score);
  expect(best[0]!.text).toBe(sentence.hypotheses[0]!.text);
  expect(best[0]!.score).toBeCloseTo(sentence.hypotheses[0]!.score, 4);
  for (const { parent, step } of tree.nodes) expect(parent === null ? 1 : tree.nodes[parent]!.step + 1).toBe(step);
  const [first] = forced.hypotheses;
  expect(first!.tokens[1]).toMatchObject({ id: forced.id });
  expect(first!.tokens[1]!.logProbability).toBeUndefined();
  expect(first!.tokens[2]!.logProbability).toBeLessThanOrEqual(0);
  expect(wrong).toEqual([
    expect.stringMatching(/^input: /),
    expect.stringMatching(/^input: there is no head cross\.3\.0: the model has layers 0 to 2/),
    expect.stringMatching(/^input: "sideways\.0\.0" names no head/),
  ]);
});

test('layers take another kind of attention, and their own back', async ({ api }) => {
  const { same, other, back, wrong, muted, swapped } = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const text = 'The animal did not cross the street because it was too tired.';
    const best = async () => (await translator.translate(text)).sentences[0]!.hypotheses[0]!;
    const own = await best();
    await translator.swapAttention('encoder.*=window:64');
    const wide = await best();
    await translator.swapAttention('encoder.*=linformer:64');
    const ranked = await best();
    await translator.swapAttention('encoder.1=uniform,encoder.*=window:1');
    const other = await best();
    const swapped = translator.swappedAttention;
    // muting reads weights again
    await translator.mute(['cross.2.5']);
    const muted = await best();
    await translator.mute([]);
    const kinds = async (call: Promise<unknown>) => call.catch((error) => `${error.kind}: ${error.message}`);
    const wrong = [];
    for (const choice of ['encoder.9=window:8', 'encoder.0=window:0', 'encoder.0=linformer:0', 'decoder.0=full', 'encoder.0=<b>wide</b>', 'all']) {
      wrong.push(await kinds(translator.swapAttention(choice)));
    }
    await translator.swapAttention('');
    const back = await best();
    translator.destroy();
    const texts = [own.text, own.score];
    const near = (one: typeof own) => one.text === texts[0] && Math.abs(one.score - own.score) < 1e-4;
    return { same: near(wide) && near(ranked), other: near(other), back: near(back), muted: near(muted), wrong, swapped };
  });
  expect({ same, other, back, muted }).toEqual({ same: true, other: false, back: true, muted: false });
  expect(swapped).toBe('encoder.1=uniform,encoder.*=window:1');
  expect(wrong).toEqual([
    expect.stringMatching(/^input: there is no layer encoder\.9/),
    expect.stringMatching(/^input: "window:0": a window has 1 neighbour/),
    expect.stringMatching(/^input: "linformer:0": keys and values are projected to 1 dimension or more/),
    expect.stringMatching(/^input: decoder\.0: only an encoder's/),
    expect.stringMatching(/^input: there is no kind of attention "<b>wide<\/b>"/),
    expect.stringMatching(/^input: "all": LAYER=KIND is needed/),
  ]);
});

test('maps of layers with windows are matrices, and a layer beyond all others is refused', async ({ api }) => {
  const { maps, wrong } = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    await translator.swapAttention('encoder.2=window:2');
    const text = 'The animal did not cross the street because it was too tired.';
    const maps = [];
    const encoder = { kind: 'encoder' } as const;
    for (const attention of [encoder, { ...encoder, layer: 2, head: 0 }, { ...encoder, layer: 0, head: 0 }]) {
      const { attention: map } = await translator.translate(text, { attention });
      const [queries, keys] = map!.shape;
      const rows = Array.from({ length: queries }, (_, row) => map!.weights.slice(row * keys, (row + 1) * keys));
      const sums = rows.map((row) => row.reduce((sum, weight) => sum + weight, 0));
      maps.push({ shape: [queries, keys], tokens: map!.keys.length, sums, seen: rows.map((row) => row.filter((weight) => weight > 0).length) });
    }
    const { sourceTokens, hypotheses } = (await translator.translate(text)).sentences[0]!;
    const targetTokens = hypotheses[0]!.tokens;
    const kinds = async (call: Promise<unknown>) => call.catch((error) => `${error.kind}: ${error.message}`);
    const wrong = [
      await kinds(translator.attention({ sourceTokens, targetTokens, layer: 2 ** 32 + 1 })),
      await kinds(translator.translate(text, { signal: {} as AbortSignal })),
      await kinds(wordloom.Translator.create({ device: 'cpu', onProgress: 5 as never })),
    ];
    translator.destroy();
    return { maps, wrong };
  });
  for (const { shape, tokens, sums } of maps) {
    expect(shape).toEqual([tokens, tokens]);
    for (const sum of sums) expect(sum).toBeCloseTo(1, 4);
  }
  expect(Math.max(...maps[1]!.seen)).toBe(5);
  expect(Math.max(...maps[2]!.seen)).toBe(maps[2]!.tokens);
  expect(wrong).toEqual([
    expect.stringMatching(/^input: there is no layer \d+; there are 3/),
    'input: signal is no AbortSignal.',
    'input: onProgress is no function.',
  ]);
});

test('parts of the model are switched off, and on again', async ({ api }) => {
  const { texts, scores, switches, wrong } = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const text = 'The animal did not cross the street because it was too tired.';
    const best = async () => (await translator.translate(text)).sentences[0]!.hypotheses[0]!;
    const found = [await best()];
    await translator.setSwitches('positions=off');
    found.push(await best());
    // muting reads weights again, and leaves the switches
    await translator.mute(['cross.2.5']);
    found.push(await best());
    const switches = translator.switches;
    const kinds = async (call: Promise<unknown>) => call.catch((error) => `${error.kind}: ${error.message}`);
    const wrong = [];
    for (const choice of ['encoder.9.norm=off', 'norm=<b>off</b>', 'all']) wrong.push(await kinds(translator.setSwitches(choice)));
    await translator.mute([]);
    await translator.setSwitches('');
    found.push(await best());
    translator.destroy();
    return { texts: found.map(({ text }) => text), scores: found.map(({ score }) => score), switches, wrong };
  });
  expect(texts[3]).toBe(texts[0]);
  expect(scores[3]).toBe(scores[0]);
  expect(texts[1]).not.toBe(texts[0]);
  expect(scores[2]).not.toBe(scores[1]);
  expect(switches).toBe('positions=off');
  expect(wrong).toEqual([
    expect.stringMatching(/^input: encoder\.9\.norm=off: there is no such layer; the encoder has layers 0 to 3/),
    expect.stringMatching(/^input: "norm=<b>off<\/b>": the value is off or on/),
    expect.stringMatching(/^input: "all" is no switch/),
  ]);
});

test('a glossary prescribes terms', async ({ api }) => {
  const { hard, soft, without, wrong } = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const text = 'Where is the train station? Thank you.';
    const glossary = 'train station\tZugbahnhof\tZugbahnhofs';
    const call = async (options: object) => (await translator.translate(text, options)).text;
    const hard = [await call({ glossary }), await call({ glossary, beams: 1 })];
    const soft = await call({ glossary, glossaryMode: 'soft:8' });
    hard.push(await call({ glossary: 'train station = Zugbahnhof' }));
    const without = [await call({ glossary: ' \n' }), await call({ glossary: 'cat\tKater' }), await call({})];
    const kinds = async (call: Promise<unknown>) => call.catch((error) => `${error.kind}: ${error.message}`);
    const wrong = [];
    for (const options of [{ glossary: 'a\tb\nc\t' }, { glossary: 5 }, { glossary, glossaryMode: 'firm' }, { glossary, sample: true }])
      wrong.push(await kinds(call(options)));
    translator.destroy();
    return { hard, soft, without, wrong };
  });
  expect(hard).toEqual(Array(3).fill('Wo ist der Zugbahnhof? Danke.'));
  expect(soft).toBe('Wo ist der Zugbahnhof? Danke.');
  expect(without).toEqual(Array(3).fill('Wo ist der Bahnhof? Danke.'));
  expect(wrong).toEqual([
    'input: glossary, line 2: the target is empty',
    expect.stringMatching(/^input: "glossary" has to be a text/),
    'input: "glossaryMode": write hard, soft, or soft:WEIGHT with a weight above 0',
    expect.stringMatching(/^input: /),
  ]);
});

test('streaming: stable text only grows, and ends as the whole', async ({ api }) => {
  const text = 'I have a dog. It is very old.\n\nMy brother lives in Berlin, and he likes it there.';
  const { partials, whole } = await api.evaluate(async (text) => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const partials = [];
    for await (const partial of translator.translateStreaming(text)) partials.push(partial);
    return { partials, whole: await translator.translate(text) };
  }, text);
  expect(partials.length).toBeGreaterThan(3);
  for (const [index, { stable }] of partials.slice(1).entries()) {
    expect(stable.startsWith(partials[index]!.stable)).toBe(true);
  }
  const last = partials.at(-1)!;
  expect(last).toMatchObject({ stable: whole.text, provisional: '' });
  expect(last.translation!.sentences).toEqual(whole.sentences);
  expect(partials.slice(0, -1).every(({ translation }) => translation === undefined)).toBe(true);
});

test('a trace has every map, as numbers and as pixels, and its file opens again', async ({ api }) => {
  const result = await api.evaluate(async (text) => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const { sentences } = await translator.translate(`${text} Thank you.`);
    const trace = await translator.trace({ sentences: sentences.map((sentence) => ({ sentence })), alternatives: 2 });
    const [{ sourceTokens, hypotheses }] = sentences as [(typeof sentences)[0]];
    const targetTokens = hypotheses[0]!.tokens;
    const far = [];
    for (const kind of ['encoder', 'decoder', 'cross'] as const) {
      for (const [layer, head] of [[0, 2], [2, 'mean'], ['mean', 'mean']] as const) {
        const one = await trace.map({ kind, layer, head });
        const other = await translator.attention({ sourceTokens, targetTokens, kind, layer, head });
        const difference = one.weights.map((weight, index) => Math.abs(weight - other.weights[index]!));
        far.push({ shapes: [one.shape, other.shape], most: Math.max(...difference) });
      }
    }
    // black where the weight is largest: the first map of the grid, a pixel for each cell
    const [queries, keys] = (await trace.map({ kind: 'cross' })).shape;
    const view = { width: 8 * keys, height: 3 * queries, cell: [1, 1], colours: 'greys' } as const;
    const { rgba } = await trace.paint({ kind: 'cross', layer: 'all', head: 'all' }, { ...view, cell: [1, 1] });
    const plain = { origin: undefined, gap: undefined, scale: undefined, colours: undefined, background: undefined };
    await trace.paint({ kind: 'cross' }, { width: 9, height: 9, cell: [1, 1], ...plain });
    const { weights } = await trace.map({ kind: 'cross', layer: 0, head: 0 });
    const largest = weights.indexOf(Math.max(...weights));
    const darkest = rgba[4 * (Math.floor(largest / keys) * 8 * keys + (largest % keys))];
    const reds = rgba.filter((_, index) => index % 4 === 0);

    const numbers = await trace.statistics({ kind: 'decoder', sentence: 1 });
    const again = await wordloom.openTrace(new Blob([await trace.file('safetensors')]), { worker: false });
    const same = JSON.stringify(again.sentences) === JSON.stringify(trace.sentences);
    const map = await again.map({ kind: 'decoder', layer: 1, head: 7, sentence: 1 });
    const before = await trace.map({ kind: 'decoder', layer: 1, head: 7, sentence: 1 });
    const kinds = [];
    for (const wrong of [
      () => trace.map({ kind: 'cross', layer: 99 }),
      () => trace.map({ kind: 'self' as never }),
      () => trace.map({ kind: 'cross', sentence: 7 }),
      () => trace.map({ kind: 'cross', layer: 'all' as never }),
      () => trace.paint({ kind: 'cross' }, { ...view, cell: [0, 1] }),
      () => trace.paint({ kind: 'cross' }, { ...view, cell: [1, 1], width: 1e9 }),
      () => trace.paint({ kind: 'cross' }, { ...view, cell: [1, 1], colours: 'pink' as never }),
      () => translator.trace({ sentences: [{ sentence: sentences[0]!, hypothesis: 9 }] }),
      () => translator.trace(undefined as never),
      () => wordloom.openTrace(new Uint8Array([1, 2, 3])),
      () => wordloom.openTrace('a path' as never),
      () => (again.close(), again.map({ kind: 'cross' })),
      () => (trace.close(), trace.map({ kind: 'cross' })),
    ]) {
      kinds.push(await wrong().then(() => 'none', (error) => error.kind));
    }
    const { targetTokens: tokens, source } = trace.sentences[0]!;
    return { far, darkest, lightest: Math.min(...reds) === darkest, numbers, same, kinds, tokens, source,
      equal: map.weights.every((weight, index) => weight === before.weights[index]) };
  }, STATION);
  for (const { shapes, most } of result.far) {
    expect(shapes[0]).toEqual(shapes[1]);
    expect(most).toBeLessThan(1e-5);
  }
  expect(result.darkest).toBeLessThan(20);
  expect(result.lightest).toBe(true);
  expect(result.numbers).toHaveLength(24);
  for (const { components, fullRank, spectrum, confidence, label } of result.numbers) {
    expect(components).toBeGreaterThan(0);
    expect(spectrum[components - 1]).toBeGreaterThanOrEqual(0.9 - 1e-9);
    expect(components).toBeLessThanOrEqual(fullRank);
    expect(confidence).toBeGreaterThan(0);
    expect(label).not.toBe('');
  }
  expect([result.same, result.equal]).toEqual([true, true]);
  expect(result.kinds).toEqual([...Array<string>(11).fill('input'), 'aborted', 'input']);
  expect(result.tokens.map(({ label }) => label)).toEqual(['<pad>', 'Wo', 'ist', 'der', 'Bahnhof', '?', '</s>']);
  const [, wo] = result.tokens;
  expect(wo).toMatchObject({ range: [0, 2], special: false });
  expect(wo!.alternatives![0]!.logProbability).toBeCloseTo(wo!.logProbability!, 4);
});

test('attention: rows sum to one, and agree with a teacher-forced pass', async ({ api }) => {
  const result = await api.evaluate(async (text) => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const attention = { kind: 'cross', layer: 1, head: 3 } as const;
    const translation = await translator.translate(text, { attention });
    const { sourceTokens, hypotheses } = translation.sentences[0]!;
    const targetTokens = hypotheses[0]!.tokens;
    const maps = [translation.attention!];
    for (const kind of ['encoder', 'decoder', 'cross'] as const) {
      maps.push(await translator.attention({ sourceTokens, targetTokens, kind }));
    }
    const ids = (tokens: { id: number }[]) => tokens.map(({ id }) => id);
    const forward = await translator.forward({
      inputIds: [ids(sourceTokens)],
      decoderInputIds: [ids(targetTokens).slice(0, -1)],
    });
    const none = (await translator.translate('', { attention: {} })).attention;
    const wrong = [];
    for (const which of [{ sentence: 4 }, { layer: 99 }, { head: 99 }, { kind: 'self' as never }]) {
      const error = await translator.translate(text, { attention: which }).catch((error) => error);
      wrong.push(error.kind);
    }
    const cross = forward.crossAttentions[1]!;
    const plain = (map: (typeof maps)[number]) => ({ ...map, weights: [...map.weights] });
    const size = cross.shape.at(-2)! * cross.shape.at(-1)!;
    return {
      maps: maps.map(plain),
      head: { shape: cross.shape, weights: [...cross.data.slice(3 * size, 4 * size)] },
      logits: { shape: forward.logits.shape, data: [...forward.logits.data] },
      targetIds: ids(targetTokens),
      none,
      wrong,
    };
  }, STATION);
  for (const { shape, weights, queries, keys } of result.maps) {
    expect(shape).toEqual([queries.length, keys.length]);
    for (let row = 0; row < shape[0]; row++) {
      const sum = weights.slice(row * shape[1], (row + 1) * shape[1]).reduce((a, b) => a + b, 0);
      expect(sum).toBeCloseTo(1, 4);
    }
  }
  const [asked] = result.maps;
  expect(asked).toMatchObject({ kind: 'cross', layer: 1, head: 3 });
  expect(asked!.queries.at(-1)!.piece).toBe('</s>');
  expect(result.head.shape).toEqual([1, 8, ...asked!.shape]);
  for (const [index, weight] of asked!.weights.entries()) expect(weight).toBeCloseTo(result.head.weights[index]!, 5);
  // Each row of logits is highest at the generated token.
  const width = result.logits.shape.at(-1)!;
  for (const [row, id] of result.targetIds.slice(1).entries()) {
    const scores = result.logits.data.slice(row * width, (row + 1) * width);
    expect(scores.indexOf(Math.max(...scores))).toBe(id);
  }
  expect(result.none).toBeUndefined();
  expect(result.wrong).toEqual(['input', 'input', 'input', 'input']);
});

test('wrong options and wrong values are named', async ({ api }) => {
  const errors = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const attempts = [
      () => translator.translate('x', { beam: 4 } as never),
      () => translator.translate('x', { beams: 0 }),
      () => translator.translate('x', { beams: 2, nBest: 3 }),
      () => translator.translate('x', { lengthPenalty: NaN }),
      () => translator.translate(7 as never),
      () => translator.generate({ inputIds: [123456] }),
      () => translator.generate({} as never),
      () => translator.generate('x' as never),
      () => translator.tokenize(null as never),
      () => translator.attention(undefined as never),
      () => translator.translateStreaming(7 as never).next(),
      () => translator.forward({ inputIds: [[1, 2], [3]], decoderInputIds: [[1]] }),
      () => translator.translate('x', { beams: () => 4 } as never),
    ];
    const errors = [];
    for (const attempt of attempts) errors.push(await attempt().then(() => 'no error', (error) => `${error.name} ${error.kind}: ${error.message}`));
    // None of them has done any harm.
    errors.push((await translator.translate('Thank you.')).text);
    return errors;
  });
  expect(errors.pop()).toBe('Danke.');
  for (const error of errors) expect(error).toMatch(/^WordloomError input: /);
  expect(errors[0]).toContain('"beam"');
  expect(errors[1]).toContain('"beams"');
});

/** Some seconds of work. All sentences differ, because equal sentences are translated once. */
const LONG = Array.from({ length: 80 }, (_, day) => `My brother bought ${day + 20} books in Berlin, and he likes it there.`).join(' ');

test('an abort is told at once, and the engine stops within a step', { tag: '@speed' }, async ({ api }) => {
  const result = await api.evaluate(async (text) => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    await translator.translate('Thank you.');
    const short = async () => {
      const begun = performance.now();
      await translator.translate('Thank you.');
      return performance.now() - begun;
    };
    const usual = await short();
    const stop = new AbortController();
    const call = translator.translate(text, { beams: 16, signal: stop.signal }).catch((error) => error);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const begun = performance.now();
    stop.abort(new Error('typed on'));
    const error = await call;
    const told = performance.now() - begun;
    // The next call waits for the end of this one.
    const next = (await short()) + told;
    const never = await translator.translate('x', { signal: AbortSignal.abort() }).catch((error) => error);
    return { name: error.name, kind: error.kind, cause: error.cause?.message, never: never.kind, usual, told, next };
  }, LONG);
  expect(result).toMatchObject({ name: 'AbortError', kind: 'aborted', cause: 'typed on', never: 'aborted' });
  expectWithin(result.told, 50);
  expectWithin(result.next - result.usual, 1000);
});

test('leaving a stream stops its work', { tag: '@speed' }, async ({ api }) => {
  const result = await api.evaluate(async (text) => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    let seen = 0;
    for await (const partial of translator.translateStreaming(text)) {
      if (partial.provisional !== '' && ++seen === 3) break;
    }
    const begun = performance.now();
    await translator.translate('Thank you.');
    const stop = new AbortController();
    const kinds = [];
    try {
      for await (const partial of translator.translateStreaming(text, { signal: stop.signal })) {
        if (partial.provisional !== '') stop.abort();
      }
    } catch (error) {
      kinds.push((error as { kind: string }).kind);
    }
    return { seen, kinds, milliseconds: performance.now() - begun };
  }, LONG);
  expect(result).toMatchObject({ seen: 3, kinds: ['aborted'] });
  expectWithin(result.milliseconds, 6000);
});

test('calls queue, and a destroyed translator says so', async ({ api }) => {
  const result = await api.evaluate(async (text) => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const texts = ['Yes.', 'Good morning.', 'Thank you.'];
    const together = await Promise.all(texts.map((text) => translator.translate(text)));
    const call = translator.translate(text).catch((error) => error);
    translator.destroy();
    translator.destroy();
    const later = await translator.translate('x').catch((error) => error);
    return { texts: together.map(({ text }) => text), pending: (await call).kind, later: later.message };
  }, LONG);
  expect(result).toEqual({
    texts: ['Ja.', 'Guten Morgen.', 'Danke.'],
    pending: 'aborted',
    later: 'The translator was destroyed.',
  });
  await expect.poll(() => api.workers().length).toBe(0);
});

test('an engine that crashes ends every call, and takes no more', async ({ api }) => {
  for (const way of ['throw', 'reject']) {
    const crashed = api.evaluate(async (text) => {
      const translator = await wordloom.Translator.create({ device: 'cpu' });
      const pending = translator.translate(text, { beams: 16 }).catch((error) => error);
      globalThis.ready = false;
      const { kind, message } = await pending;
      const later = await translator.translate('x').catch((error) => error);
      return { kind, message, later: later.kind };
    }, LONG);
    await api.waitForFunction(() => !globalThis.ready);
    await api.evaluate(() => void (globalThis.ready = true));
    await api.workers()[0]!.evaluate((way) => {
      setTimeout(() => {
        if (way === 'throw') throw new Error('a fault of ours');
        void Promise.reject(new Error('a fault of ours'));
      });
    }, way);
    expect(await crashed).toMatchObject({
      kind: 'internal',
      message: expect.stringContaining('a fault of ours'),
      later: 'internal',
    });
    await expect.poll(() => api.workers().length).toBe(0);
  }
});

test('what a browser lacks is said', async ({ api, server }) => {
  const noSimd = await api.evaluate(async () => {
    const { validate } = WebAssembly;
    WebAssembly.validate = () => false;
    const error = await wordloom.Translator.create({ worker: false }).catch((error) => error);
    const availability = await wordloom.Translator.availability();
    WebAssembly.validate = validate;
    return { kind: error.kind, message: error.message, availability };
  });
  expect(noSimd).toMatchObject({ kind: 'unsupported', availability: 'unavailable' });
  expect(noSimd.message).toContain('WebAssembly with SIMD');
  expect(noSimd.message).toContain('Chrome 108, Firefox 114, Safari 16.4'); // as in the README
  server.rules = [{ path: 'wordloom_web_bg.wasm', status: 404 }];
  const noWasm = await api.evaluate(() => wordloom.Translator.create().catch(({ kind, message }) => `${kind}: ${message}`));
  expect(noWasm).toMatch(/^network: .*wordloom_web_bg\.wasm answered 404/);
  server.rules = [{ path: 'worker.js', status: 404 }];
  const noWorker = await api.evaluate(() => wordloom.Translator.create().catch(({ kind, message }) => `${kind}: ${message}`));
  expect(noWorker).toMatch(/^network: worker\.js could not be fetched/);
});

test('in the thread of the caller', async ({ api }) => {
  const result = await api.evaluate(async () => {
    const warnings: string[] = [];
    const translator = await wordloom.Translator.create({
      worker: false,
      device: 'cpu',
      onProgress: (event) => event.stage === 'warning' && warnings.push(event.message),
    });
    const { text } = await translator.translate('Thank you.');
    translator.destroy();
    return { text, warnings };
  });
  // A window cannot write files synchronously.
  expect(result).toEqual({ text: 'Danke.', warnings: [expect.stringContaining('held in memory')] });
  expect(api.workers().length).toBe(0);
});

test('models that have no tokenizer take token ids', async ({ api, server }) => {
  const result = await api.evaluate(async (model) => {
    const translator = await wordloom.Translator.create({ model, device: 'cpu' });
    const [generated] = await translator.generate({ inputIds: [5, 6, 7, 0], beams: 2, nBest: 2, maxNewTokens: 4 });
    const error = await translator.translate('x').catch((error) => error);
    return { count: generated!.sequences.length, scores: generated!.scores, kind: error.kind };
  }, `${server.url}/fixtures/vanilla_postln/`);
  expect(result.count).toBe(2);
  expect(result.scores[0]).toBeGreaterThanOrEqual(result.scores[1]!);
  expect(result.kind).toBe('unsupported');
});

test('explains one attention: each number follows from those before it', async ({ api }) => {
  const result = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'cpu' });
    const text = "The animal didn't cross the street because it was too tired.";
    const choice = { token: 'it', kind: 'encoder', layer: 1, head: 2 } as const;
    const explained = await translator.explain(text, choice);
    const { sentences } = await translator.translate(text);
    const again = await translator.explain({ sentence: sentences[0]! }, { ...choice, token: explained.query.position });
    const decoder = await translator.explain(text, { token: 2, kind: 'decoder', target: 'Das Tier war müde.' });
    const trace = await translator.trace({ sentences: [{ sentence: sentences[0]! }] });
    const map = await trace.map({ kind: 'encoder', layer: 1, head: 2 });
    const wrong: unknown[] = [];
    for (const options of [
      { token: 'horse' },
      { token: 0, layer: 9 },
      { token: 0, head: -1 },
      { token: 0, kind: 'self' },
      { token: -1 },
      {},
    ]) {
      wrong.push(await translator.explain(text, options as never).catch(({ kind, message }) => ({ kind, message })));
    }
    const plain = (of: typeof explained) => ({
      ...of,
      steps: of.steps.map((step) => ({ ...step, numbers: step.numbers.map((one) => ({ ...one, values: [...one.values] })) })),
    });
    return { explained: plain(explained), again: plain(again), decoder: plain(decoder), map: [...map.weights], wrong };
  });
  const { explained, decoder } = result;
  const of = (from: typeof explained, kind: string, name: string): number[] =>
    from.steps.find((step) => step.kind === kind)!.numbers.find((numbers) => numbers.name === name)!.values;
  const close = (got: readonly number[], wanted: readonly number[], tolerance: number) => {
    expect(got.length).toBe(wanted.length);
    got.forEach((value, index) => expect(Math.abs(value - wanted[index]!)).toBeLessThan(tolerance));
  };
  expect(explained.query.label).toBe('it');
  expect(explained.produces).toBeNull();
  expect(explained.sizes).toEqual({ dModel: 256, heads: 8, dK: 32, dV: 32, ffnWidth: 1024, layers: 4 });
  const rows = <T>(values: T[], width: number) =>
    Array.from({ length: values.length / width }, (_, row) => values.slice(row * width, (row + 1) * width));
  const dot = (one: number[], other: number[]) => one.reduce((sum, value, at) => sum + value * other[at]!, 0);
  // the paper's equation (1), in float64
  const [q, k, v] = [of(explained, 'query', 'q'), rows(of(explained, 'keys', 'k'), 32), rows(of(explained, 'values', 'v'), 32)];
  const products = k.map((key) => dot(q, key));
  close(of(explained, 'products', 'q·k'), products, 1e-3);
  const scores = products.map((product) => product / Math.sqrt(32));
  close(of(explained, 'scale', 'scores'), scores, 1e-3);
  const powers = scores.map(Math.exp);
  const sum = powers.reduce((a, b) => a + b, 0);
  const weights = powers.map((power) => power / sum);
  close(of(explained, 'softmax', 'weights'), weights, 1e-4);
  close(of(explained, 'values', 'context'), q.map((_, at) => dot(weights, v.map((value) => value[at]!))), 1e-3);
  // the same row of the map, and the same numbers for a translated sentence
  const keys = explained.keys.length;
  close(result.map.slice(explained.query.position * keys, (explained.query.position + 1) * keys), of(explained, 'softmax', 'weights'), 1e-5);
  close(of(result.again, 'softmax', 'weights'), of(explained, 'softmax', 'weights'), 1e-6);
  // later tokens are hidden, and the last layer ends in probabilities
  expect(decoder.target).toBe('Das Tier war müde.');
  expect(of(decoder, 'mask', 'masked').map((score) => score === -Infinity)).toEqual(decoder.keys.map((_, key) => key > 2));
  expect(decoder.candidates.length).toBe(8);
  for (const { probability } of decoder.candidates) expect(probability).toBeGreaterThan(0);
  const [word, layer, head, kind, negative, none] = result.wrong as { kind: string; message: string }[];
  expect(word!.message).toContain('there is no token "horse" in the source; its tokens are #0 The');
  expect(layer!.message).toContain('there is no head encoder.9.0; layers of the encoder attention are 0 to 3');
  expect(head!.message).toContain('"head" has to be a number, counted from 0');
  expect(kind!.message).toContain('"kind" has to be "encoder", "decoder" or "cross"');
  expect(negative!.message).toContain('token must be a word of the text, or its number from 0');
  expect(none!.message).toContain('token must be');
  expect(result.wrong.every((error) => (error as { kind: string }).kind === 'input')).toBe(true);
});
