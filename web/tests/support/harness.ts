/** A page with only the package, and a server that can misbehave. */
import { test as base, type Page } from '@playwright/test';
import { fileURLToPath } from 'node:url';
import type * as Core from '../../ts/core.ts';
import type * as Wordloom from '../../ts/index.ts';
import type * as StandIn from '../../ts/translator-api.ts';
import { TestServer } from './server.ts';

declare global {
  var wordloom: typeof Wordloom;
  var core: typeof Core;
  var standIn: typeof StandIn;
  var ready: boolean;
}

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export const MODEL_FOLDER = path('../../../models/tatoeba-en-de/');
/** The model of the npm package: the same in 8 bits. */
export const BUNDLED_MODEL = path('../../../models/tatoeba-en-de-q8/');
export const FIXTURES_FOLDER = path('../../../tests/data/models/');

export const test = base.extend<{ server: TestServer; api: Page }, { shared: TestServer }>({
  shared: [
    async ({}, use) => {
      const server = await TestServer.start({
        '/': path('harness/'),
        '/dist/': path('../../dist/'),
        '/model/': MODEL_FOLDER,
        '/fixtures/': FIXTURES_FOLDER,
      });
      await use(server);
      await server.stop();
    },
    { scope: 'worker' },
  ],
  server: async ({ shared }, use) => {
    shared.reset();
    await use(shared);
  },
  /** The open harness. Unexpected errors on its console fail the test. */
  api: async ({ page, server }, use) => {
    await openHarness(page, server);
    await use(page);
  },
});

export async function openHarness(page: Page, server: TestServer): Promise<void> {
  await page.goto(`${server.url}/`);
  await page.waitForFunction(() => globalThis.ready);
}

export { expect } from '@playwright/test';
