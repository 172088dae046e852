// Runs one Rust test program in Chromium. Cargo calls it (`runner` in .cargo/config.toml):
//
//   cargo test --target wasm32-unknown-unknown --test kernels
//
// `wasm-bindgen-test-runner` turns the program into a page and serves it, together with the repository (its current
// folder) for the fixtures. This script opens the page, prints its output and watches its console. A warning or an error
// on the console, such as a WebGPU error from `watch.js`, fails the run.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { executable, FLAGS } from '../support/browser.mjs';

/** Time without output after which a test counts as stuck. */
const PATIENCE_MS = 600_000;
const POLL_MS = 250;

/** Ignored messages: wasm-bindgen's about its own page, and panics, which its report contains. */
const OF_THE_RUNNER = /^(using deprecated parameters for the initialization function|panicked at )/;

const { WASM_BINDGEN_TEST_RUNNER = 'wasm-bindgen-test-runner' } = process.env;

const folder = await mkdtemp(join(tmpdir(), 'wordloom-tests-'));
const runner = spawn(WASM_BINDGEN_TEST_RUNNER, process.argv.slice(2), {
  // TMPDIR, because a stopped server leaves its files behind
  env: { ...process.env, NO_HEADLESS: '1', WASM_BINDGEN_TEST_ADDRESS: '127.0.0.1:0', TMPDIR: folder },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const runnerEnded = new Promise((resolve) => {
  runner.once('close', (code) => resolve(code ?? 1));
  runner.once('error', (error) => {
    console.error(`error: ${error.message}; run \`cargo xtask setup\``);
    resolve(1);
  });
});

try {
  const address = await served(runner);
  // it ends by itself if there is nothing to serve: `--list`, or no test of that name
  process.exitCode = typeof address === 'number' ? address : await runPage(address);
} catch (error) {
  const hint = error.code === 'ERR_MODULE_NOT_FOUND' ? '; run `cargo xtask setup`' : '';
  console.error(`error: ${error.message}${hint}`);
  process.exitCode = 1;
} finally {
  if (runner.pid !== undefined && runner.exitCode === null) {
    runner.kill();
    await runnerEnded;
  }
  await rm(folder, { recursive: true, force: true });
}

/** The address of the runner's page. Earlier output is passed on. */
async function served({ stdout }) {
  for await (const line of createInterface({ input: stdout })) {
    const address = line.match(/http:\/\/\S+$/)?.[0];
    if (address) return address;
    console.log(line);
  }
  return runnerEnded;
}

/** Opens the page and waits for the end of its tests. Returns the exit code. */
async function runPage(address) {
  const { chromium } = await import('@playwright/test'); // here, so that a missing package is reported above
  const browser = await chromium.launch({ executablePath: executable(), args: FLAGS });
  try {
    const page = await browser.newPage();
    const complaints = [];
    page.on('console', (message) => {
      const text = message.text();
      const complains = ['warning', 'error', 'assert'].includes(message.type());
      if (complains && !OF_THE_RUNNER.test(text)) complaints.push(text);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('crash', () => complaints.push('the page crashed'));
    await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }));
    const watch = await readFile(new URL('./watch.js', import.meta.url), 'utf8');
    await page.route('**/worker.js', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: watch + (await response.text()) });
    });
    await page.goto(address);
    const passed = await follow(page, complaints);
    await pause(); // for late messages
    if (complaints.length > 0) {
      console.log("\nthe browser's console, which has to stay quiet:");
      for (const complaint of complaints) console.log(`  ${complaint.trimEnd().replaceAll('\n', '\n  ')}`);
    }
    return passed && complaints.length === 0 ? 0 : 1;
  } finally {
    await browser.close();
  }
}

/** Prints the page's output until the tests have ended. Returns whether all passed. */
async function follow(page, complaints) {
  let shown = '';
  let changed = Date.now();
  for (;;) {
    const text = await page.locator('#output').innerText();
    if (text !== shown) {
      // the page writes "Loading…" first, then starts again
      process.stdout.write(text.startsWith(shown) ? text.slice(shown.length) : text);
      shown = text;
      changed = Date.now();
    }
    const result = text.match(/^test result: (ok|FAILED)\..*\n/m);
    if (result) return result[1] === 'ok';
    if (text.includes('Worker error:') || complaints.includes('the page crashed')) return false;
    if (Date.now() - changed > PATIENCE_MS) {
      console.log(`\nno word from the tests for ${PATIENCE_MS / 1000} s: stopped`);
      return false;
    }
    await pause();
  }
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
