/** The browser of the tests: the system's Chromium, with WebGPU on its software adapter. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first is the same engine without what surrounds a page: the tests take a fifth less time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const ELSEWHERE = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/**
 * `CHROMIUM`, or the first that is found.
 * @returns {string}
 */
export function executable() {
  const folders = ['/usr/bin', ...(process.env['PATH'] ?? '').split(delimiter)];
  const candidates = [...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))), ...ELSEWHERE];
  const found = process.env['CHROMIUM'] ?? candidates.find(isExecutable);
  if (!found) throw new Error('no Chromium was found: install one, or name it in the variable CHROMIUM');
  return found;
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Without the Vulkan and ANGLE flags, the first frame of a WebGPU canvas would end the GPU process. The page itself is drawn
 * without them: that took a quarter of the processor's time.
 */
export const FLAGS = [
  '--no-sandbox',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--enable-features=Vulkan',
  '--use-vulkan=swiftshader',
  '--use-angle=swiftshader',
  '--disable-gpu-rasterization',
  '--disable-gpu-compositing',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
