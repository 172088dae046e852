import { aborted } from '../errors.js';

export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => (clearTimeout(timer), reject(aborted()));
    const timer = setTimeout(() => (signal.removeEventListener('abort', abort), resolve()), milliseconds);
    signal.addEventListener('abort', abort, { once: true });
  });
}
