import { defineConfig } from '@playwright/test';
import { chromium } from './tests/support/chromium.ts';

/** For the public CI; everything else runs in Chromium. */
const firefox = { browserName: 'firefox', launchOptions: { firefoxUserPrefs: { 'dom.webgpu.enabled': true } } } as const;

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  // One at a time where times are judged. Else two files at a time, which take half as long even on two cores: a page waits
  // for its timers, and compiles shaders on one thread.
  workers: process.env['WORDLOOM_JUDGE_SPEED'] === '1' ? 1 : 2,
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: [['line']],
  forbidOnly: true,
  use: process.env['WORDLOOM_BROWSER'] === 'firefox' ? firefox : chromium,
});
