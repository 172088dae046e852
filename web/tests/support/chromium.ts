import type { PlaywrightTestConfig } from '@playwright/test';
import { executable, FLAGS } from './browser.mjs';

/** For Playwright's `use`. The new headless mode is the browser itself, without a window; the headless shell knows no other. */
export const chromium = {
  browserName: 'chromium' as const,
  headless: true,
  launchOptions: { executablePath: executable(), args: ['--headless=new', ...FLAGS], ignoreDefaultArgs: ['--headless'] },
} satisfies PlaywrightTestConfig['use'];
