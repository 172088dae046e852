/** The speed of this machine, for bounds in milliseconds. */
import { Worker } from 'node:worker_threads';

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
