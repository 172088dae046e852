// Chromium with WebGPU on SwiftShader, its software adapter: the same results with and without a GPU.

import { existsSync } from "node:fs";
import { chromium } from "@playwright/test";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

const FLAGS = [
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-features=Vulkan",
  "--use-vulkan=swiftshader",
  "--use-angle=swiftshader",
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** @returns {Promise<import("@playwright/test").Browser>} */
export async function launch() {
  const executablePath = process.env.CHROMIUM || PLACES.find((place) => existsSync(place));
  if (!executablePath) throw new Error("no Chromium found: run `cargo xtask setup`, or set CHROMIUM to its path");
  return chromium.launch({ executablePath, args: FLAGS });
}
