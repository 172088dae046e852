import { defineConfig } from '@playwright/test';
import { chromium } from './tests/support/chromium.ts';
import { JUDGED } from './tests/support/machine.ts';

/** For the public CI; everything else runs in Chromium. */
const firefox = { browserName: 'firefox', launchOptions: { firefoxUserPrefs: { 'dom.webgpu.enabled': true } } } as const;

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  // Nothing runs beside what is timed. Otherwise two at a time: a software GPU's compiler has one thread.
  workers: JUDGED ? 1 : 2,
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: [['line']],
  forbidOnly: true,
  use: process.env['WORDLOOM_BROWSER'] === 'firefox' ? firefox : chromium,
});
