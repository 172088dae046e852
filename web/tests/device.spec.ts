/** Memory that does not grow, devices that are given back, lost, too small or not there. */
import type { CDPSession, Page } from '@playwright/test';
import type { Memory } from '../ts/types.ts';
import { expect, test } from './support/harness.ts';

async function jsHeap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize;
}

for (const device of ['cpu', 'gpu'] as const) {
  test(`200 translations need no more memory than 10, on the ${device}`, async ({ api, context }) => {
    test.setTimeout(300_000);
    const session = await context.newCDPSession(api);
    // In the page's own thread, so that its heap is the engine's, too.
    await api.evaluate(async (device) => {
      const translator = await wordloom.Translator.create({ device, worker: false });
      const sentences = ['Thank you.', 'Where is the train station?', 'I have lost my passport.', 'She sings well.'];
      const run = async (count: number) => {
        for (let index = 0; index < count; index++) await translator.translate(sentences[index % 4]!, { beams: 1 });
        return translator.memory();
      };
      Object.assign(globalThis, { run });
    }, device);
    const run = (count: number) => api.evaluate((count) => globalThis.run(count), count);
    const early = { ...(await run(10)), heap: await jsHeap(session) };
    const late = { ...(await run(190)), heap: await jsHeap(session) };
    expect(late.wasmBytes).toBe(early.wasmBytes);
    expect(late.deviceBytes).toBe(early.deviceBytes);
    expect(late.heap - early.heap).toBeLessThan(100_000);
    if (device === 'gpu') expect(early.deviceBytes).toBeGreaterThan(30_000_000);
  });
}

/** Keeps what the engine does with WebGPU within reach: every device, and every buffer that is not destroyed. */
async function watchWebGpu(page: Page): Promise<void> {
  await page.evaluate(() => {
    const devices: GPUDevice[] = [];
    const live = new Map<GPUBuffer, { device: GPUDevice; size: number }>();
    const { requestDevice } = GPUAdapter.prototype;
    GPUAdapter.prototype.requestDevice = async function (descriptor) {
      const device = await requestDevice.call(this, descriptor);
      devices.push(device);
      return device;
    };
    const { createBuffer } = GPUDevice.prototype;
    GPUDevice.prototype.createBuffer = function (descriptor) {
      const buffer = createBuffer.call(this, descriptor);
      live.set(buffer, { device: this, size: descriptor.size });
      return buffer;
    };
    const { destroy } = GPUBuffer.prototype;
    GPUBuffer.prototype.destroy = function () {
      live.delete(this);
      return destroy.call(this);
    };
    const { destroy: destroyDevice } = GPUDevice.prototype;
    GPUDevice.prototype.destroy = function () {
      for (const [buffer, { device }] of live) if (device === this) live.delete(buffer);
      return destroyDevice.call(this);
    };
    const bytes = () => [...live.values()].reduce((sum, { size }) => sum + size, 0);
    Object.assign(globalThis, { webgpu: { devices, bytes } });
  });
}

declare global {
  var run: (count: number) => Promise<Memory>;
  var webgpu: { devices: GPUDevice[]; bytes(): number };
}

test('destroy() gives the memory of the device back', async ({ api }) => {
  await watchWebGpu(api);
  const result = await api.evaluate(async () => {
    const translator = await wordloom.Translator.create({ device: 'gpu', worker: false });
    await translator.translate('Thank you.');
    const used = webgpu.bytes();
    const { deviceBytes } = await translator.memory();
    const sentences = Array.from({ length: 40 }, (_, day) => `Where is station ${day + 20}, and who knows it? `);
    const call = translator.translate(sentences.join('')).catch((error) => error);
    await new Promise((resolve) => setTimeout(resolve, 200));
    translator.destroy();
    const { kind } = await call;
    // A step that is under way ends first.
    for (let wait = 0; wait < 200 && webgpu.bytes() > 0; wait++) await new Promise((resolve) => setTimeout(resolve, 50));
    return { used, deviceBytes, left: webgpu.bytes(), kind };
  });
  expect(result.deviceBytes).toBeGreaterThan(30_000_000);
  expect(result.used).toBeGreaterThanOrEqual(result.deviceBytes);
  expect(result.left).toBe(0);
  expect(result.kind).toBe('aborted');
});

const TEXT = 'My brother lives in Berlin, and he likes it there.';

test('a device that is lost in mid sentence is replaced: same ids', async ({ api }) => {
  await watchWebGpu(api);
  const result = await api.evaluate(async (text) => {
    const translator = await wordloom.Translator.create({ device: 'gpu', worker: false });
    const expected = await translator.translate(text);
    let lost = 0;
    let last;
    for await (const partial of translator.translateStreaming(text)) {
      if (partial.provisional !== '' && lost++ === 1) webgpu.devices[0]!.destroy();
      last = partial;
    }
    const after = await translator.translate(text);
    return { expected, last, after: after.text, devices: webgpu.devices.length };
  }, TEXT);
  expect(result.devices).toBe(2);
  expect(result.last!.translation!.sentences).toEqual(result.expected.sentences);
  expect(result.last!.stable).toBe(result.expected.text);
  expect(result.after).toBe(result.expected.text);
});

test('a device that is lost twice in one call is an error, and the next call works', async ({ api }) => {
  await watchWebGpu(api);
  const result = await api.evaluate(async (text) => {
    const translator = await wordloom.Translator.create({ device: 'gpu', worker: false });
    const call = translator.translate(text).catch((error) => error);
    let lost = 0;
    const timer = setInterval(() => {
      if (webgpu.devices.length > lost && lost < 2) webgpu.devices[lost++]!.destroy();
    }, 20);
    const error = await call;
    clearInterval(timer);
    const after = await translator.translate('Thank you.');
    return { kind: error.kind, message: error.message, lost, after: after.text };
  }, TEXT);
  expect(result).toMatchObject({ kind: 'device-lost', lost: 2, after: 'Danke.' });
});

test('no WebGPU: an error for those who want it, the CPU for the others', async ({ api }) => {
  const result = await api.evaluate(async () => {
    Object.defineProperty(navigator, 'gpu', { value: undefined });
    const error = await wordloom.Translator.create({ device: 'gpu', worker: false }).catch((error) => error);
    const translator = await wordloom.Translator.create({ worker: false });
    return { kind: error.kind, message: error.message, device: translator.info.device };
  });
  expect(result.kind).toBe('unsupported');
  expect(result.message).toMatch(/WebGPU/i);
  expect(result.device.kind).toBe('cpu');
  expect(result.device.notice).toMatch(/CPU/);
});

test('a device that has no memory left', async ({ api }) => {
  const result = await api.evaluate(async () => {
    // What Chromium does where an allocation fails: the buffer is invalid, and the device says so.
    const { createBuffer } = GPUDevice.prototype;
    GPUDevice.prototype.createBuffer = function (descriptor) {
      if (descriptor.size > 1_000_000) {
        const error = new GPUOutOfMemoryError('Out of memory');
        this.dispatchEvent(new GPUUncapturedErrorEvent('uncapturederror', { error, cancelable: true }));
      }
      return createBuffer.call(this, descriptor);
    };
    const error = await wordloom.Translator.create({ device: 'gpu', worker: false }).catch((error) => error);
    GPUDevice.prototype.createBuffer = createBuffer;
    const translator = await wordloom.Translator.create({ device: 'gpu', worker: false });
    const { text } = await translator.translate('Thank you.');
    return { kind: error.kind, message: error.message, text };
  });
  expect(result).toMatchObject({ kind: 'memory', text: 'Danke.' });
});
