/** The built page behind a strict policy. Unexpected errors and requests fail the test. */
import { test as base, expect, type Locator, type Page } from '@playwright/test';
import { fileURLToPath } from 'node:url';
import { TestServer } from './server.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

export const MODEL = path('../../../models/tatoeba-en-de/');
export const SCREENS = path('../../test-results/screens/');
export const SITE = path('../../../cli/site/');

/** The headers of `wordloom serve`. */
export const POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'; " +
  "connect-src 'self' https:; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'; object-src 'none'";

export interface Wordloom {
  readonly server: TestServer;
  /** Console messages that a test causes on purpose. */
  readonly allowed: RegExp[];
  open(): Promise<void>;
  readonly source: Locator;
  readonly output: Locator;
  readonly banner: Locator;
  /** Pastes a text and waits for its translation. */
  translate(text: string): Promise<string>;
  options(): Promise<void>;
  look(...panels: ('Alternatives' | 'Confidence' | 'Search' | 'Attention')[]): Promise<void>;
  screenshot(name: string): Promise<void>;
}

export const test = base.extend<{ wordloom: Wordloom }, { server: TestServer }>({
  server: [
    async ({}, use) => {
      const server = await TestServer.start({ '/': SITE, '/fixtures/tatoeba-en-de/': MODEL });
      await use(server);
      await server.stop();
    },
    { scope: 'worker' },
  ],
  wordloom: async ({ page, server }, use) => {
    server.reset();
    server.policy = POLICY;
    const wordloom = drive(page, server);
    const complaints = watch(page);
    await use(wordloom);
    const unexpected = complaints.filter((text) => !wordloom.allowed.some((pattern) => pattern.test(text)));
    expect(unexpected, 'complaints in the console').toEqual([]);
  },
});

export { expect };

export function drive(page: Page, server: TestServer): Wordloom {
  const source = page.getByRole('textbox', { name: /^(English|Your text)$/ });
  const output = page.getByTestId('output');
  return {
    server,
    allowed: [],
    source,
    output,
    banner: page.getByRole('alert'),
    async open() {
      await page.goto(`${server.url}/`);
    },
    async translate(text) {
      await source.fill(text);
      await settled(page);
      return (await output.innerText()).trimEnd();
    },
    async options() {
      await page.getByRole('button', { name: /Model and device/ }).click();
    },
    async look(...panels) {
      for (const name of panels) await page.getByRole('button', { name, exact: true }).click();
    },
    async screenshot(name) {
      await page.screenshot({ path: `${SCREENS}${name}.png`, fullPage: true, animations: 'disabled' });
    },
  };
}

/** Waits until the translation is complete. */
export async function settled(page: Page): Promise<void> {
  const target = page.locator('.pane--target');
  await expect(target.locator('.sentence').first()).toBeVisible({ timeout: 60_000 });
  await expect(target).toHaveAttribute('aria-busy', 'false', { timeout: 60_000 });
}

/** Collects console errors and uncaught errors. */
export function watch(page: Page): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  return complaints;
}

/** The service worker has everything, and controls the page. */
export async function kept(page: Page): Promise<void> {
  await page.waitForFunction(async () => {
    await navigator.serviceWorker.ready;
    return navigator.serviceWorker.controller !== null;
  });
}
