/** Bounds in milliseconds, and how fast this machine is. */
import { Worker } from 'node:worker_threads';
import { expect } from '@playwright/test';

/** Whether times are judged: `cargo xtask bench --check` does, on a quiet machine, for the tests with the tag `@speed`. */
export const JUDGED = process.env['WORDLOOM_JUDGE_SPEED'] === '1';

/** Checks that `time` is below `bound`, both in milliseconds, where times are judged. */
export function expectWithin(time: number | undefined, bound: number): void {
  if (JUDGED) expect(time).toBeLessThan(bound);
}

/** Milliseconds that the work takes on the machine that the bounds were set on: two cores, not fast ones. */
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

/**
 * How much slower than that machine this one is at the moment, be it its processor or what else it does. On two cores at
 * once, as a page and its GPU are busy on two.
 */
export async function slowdown(): Promise<number> {
  const work = (): Promise<number> => new Promise((done) => new Worker(WORK, { eval: true }).once('message', done));
  const times = await Promise.all([work(), work()]);
  return Math.max(1, Math.max(...times) / REFERENCE_WORK);
}
