/** The last check of `cargo xtask web`: a download that is too large fails. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';

const SCRIPT = fileURLToPath(new URL('../scripts/sizes.js', import.meta.url));

/** Exit code and output for a folder with files of random bytes, which do not compress. */
function measured(files: Record<string, number>, limit: number): { code: number; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'wordloom-sizes-'));
  try {
    for (const [name, bytes] of Object.entries(files)) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), randomBytes(bytes));
    }
    const output = execFileSync(process.execPath, [SCRIPT, `${folder}=${limit}`], { encoding: 'utf8' });
    return { code: 0, output };
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string };
    return { code: status, output: stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('code below the limit passes, whatever the model weighs', () => {
  const files = { 'engine.wasm': 6000, 'assets/page.js': 3000, 'page.css': 9000, 'model/model.js': 9000 };
  const { code, output } = measured(files, 10_000);
  expect(output).toContain('assets/page.js');
  expect(output).not.toContain('model/');
  expect(code).toBe(0);
});

test('wasm and scripts count together', () => {
  const { code, output } = measured({ 'engine.wasm': 6000, 'assets/page.js': 6000 }, 10_000);
  expect(output).toContain('FAILED, too much');
  expect(code).toBe(1);
});

test('code of training is a download of its own', () => {
  const { code, output } = measured({ 'engine.wasm': 6000, 'train.js': 3000, 'assets/wordloom_web_train_bg-1.wasm': 3000 }, 7_000);
  expect(output).toContain('of training');
  expect(code).toBe(0);
  expect(measured({ 'engine.wasm': 10, 'train.js': 2_000_000 }, 7_000).code).toBe(1);
});

test('a build without its module does not pass for a small one', () => {
  const { code, output } = measured({ 'page.js': 10 }, 10_000);
  expect(output).toContain('no wasm module');
  expect(code).toBe(1);
});
