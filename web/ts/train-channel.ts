/** The worker with the module that trains and checks. */
import { WordloomError } from './errors.js';
import type { Channel } from './protocol.js';
import { toWorker } from './worker-channel.js';

/** `who` needs the worker, for the message of an error. */
export function trainChannel(who: string): Channel {
  if (typeof Worker === 'undefined') throw new WordloomError('unsupported', `${who} runs in browsers only.`);
  const start = () => new Worker(new URL('./train-worker.js', import.meta.url), { type: 'module', name: 'wordloom-train' });
  return toWorker(start, 'train-worker.js');
}
