import { defineConfig } from '@playwright/test';
import { chromium } from './tests/support/chromium.ts';

/** For the public CI; everything else runs in Chromium. */
const firefox = { browserName: 'firefox', launchOptions: { firefoxUserPrefs: { 'dom.webgpu.enabled': true } } } as const;

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  // One at a time: a software GPU uses every core there is, and `cargo xtask bench --check` judges times.
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: [['line']],
  forbidOnly: true,
  use: process.env['WORDLOOM_BROWSER'] === 'firefox' ? firefox : chromium,
});
