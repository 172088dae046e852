/** Bounds in milliseconds, and the speed of this machine. */
import { Worker } from 'node:worker_threads';
import { expect } from '@playwright/test';

/** Whether times are judged: by `cargo xtask bench --check` on a quiet machine, for tests with the tag `@speed`. */
export const JUDGED = process.env['WORDLOOM_JUDGE_SPEED'] === '1';

/** Checks that `time` is below `bound`, both in milliseconds, if times are judged. */
export function expectWithin(time: number | undefined, bound: number): void {
  if (JUDGED) expect(time).toBeLessThan(bound);
}

/** Milliseconds of the work on the reference machine of the bounds, which has two slow cores. */
const REFERENCE_WORK = 130;

const WORK = `
  let best = Infinity;
  for (let run = 0; run < 5; run += 1) {
    const start = performance.now();
    let hash = 1;
    for (let step = 0; step < 100_000_000; step += 1) hash = (Math.imul(hash, 31) + step) | 0;
    best = Math.min(best, performance.now() - start);
  }
  require('node:worker_threads').parentPort.postMessage(best);
`;

/** How much slower this machine is at the moment, measured on two cores, because a page and its GPU use two. */
export async function slowdown(): Promise<number> {
  const work = (): Promise<number> => new Promise((done) => new Worker(WORK, { eval: true }).once('message', done));
  const times = await Promise.all([work(), work()]);
  return Math.max(1, Math.max(...times) / REFERENCE_WORK);
}
