// Runs in the worker before the tests. Writes to the console what WebGPU reports out of band, because Playwright does not
// get it otherwise: uncaptured errors, and the compiler's messages about shaders, including warnings.

const { requestDevice } = GPUAdapter.prototype;
GPUAdapter.prototype.requestDevice = async function (...descriptor) {
  const device = await requestDevice.apply(this, descriptor);
  device.addEventListener('uncapturederror', ({ error }) => {
    console.error(`WebGPU: ${error.constructor.name}: ${error.message}`);
  });
  return device;
};

const { createShaderModule } = GPUDevice.prototype;
GPUDevice.prototype.createShaderModule = function (descriptor) {
  const module = createShaderModule.call(this, descriptor);
  void module.getCompilationInfo().then(({ messages }) => {
    for (const { type, lineNum, message } of messages) {
      console.error(`WGSL: ${descriptor.label}, line ${lineNum}: ${type}: ${message}`);
    }
  });
  return module;
};
