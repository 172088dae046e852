/** The caller's side of a channel: calls with ids, aborts, progress, and the end of the engine. */
import { checkSignal } from './check-input.js';
import { aborted, fromWire, toWordloomError, WordloomError } from './errors.js';
import type { Calls, Channel, FromEngine, Method, ToEngine } from './protocol.js';
import type { ProgressEvent } from './types.js';

interface Pending {
  resolve(value: never): void;
  reject(error: WordloomError): void;
  partial: ((partial: never) => void) | undefined;
}

/** Time in which a destroyed engine may free its device, before its worker is terminated. */
const LAST_MOMENTS_MS = 10_000;

export class Client {
  readonly #channel: Channel;
  readonly #progress: ((event: ProgressEvent) => void) | undefined;
  readonly #pending = new Map<number, Pending>();
  #nextId = 0;
  /** The reason why the channel is closed. */
  #over: WordloomError | undefined;
  #lastMoments: ReturnType<typeof setTimeout> | undefined;

  constructor(channel: Channel, progress: ((event: ProgressEvent) => void) | undefined) {
    this.#channel = channel;
    this.#progress = progress;
    channel.listen(
      (message) => this.#receive(message),
      (error) => {
        const known = error instanceof WordloomError;
        this.#crash(known ? error : new WordloomError('internal', `The engine has stopped: ${text(error)}`, { cause: error }));
      },
    );
  }

  call<M extends Method>(
    method: M,
    input: Calls[M]['input'],
    signal?: AbortSignal,
    partial?: (partial: never) => void,
  ): Promise<Calls[M]['output']> {
    if (this.#over) return Promise.reject(again(this.#over));
    try {
      checkSignal(signal);
    } catch (error) {
      return Promise.reject(error);
    }
    if (signal?.aborted) return Promise.reject(abortedBy(signal));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The promise rejects at once. The engine stops at its next step; later messages of the call are ignored.
      const abort = () => {
        if (!this.#pending.delete(id)) return;
        settled();
        this.#channel.post({ type: 'abort', id });
        reject(abortedBy(signal));
      };
      signal?.addEventListener('abort', abort, { once: true });
      const settled = () => {
        signal?.removeEventListener('abort', abort);
        this.#channel.busy?.(this.#pending.size > 0);
      };
      this.#pending.set(id, {
        resolve: (value) => (settled(), resolve(value)),
        reject: (error) => (settled(), reject(error)),
        partial,
      });
      this.#channel.busy?.(true);
      try {
        this.#channel.post({ type: 'call', id, method, input, stream: partial !== undefined } as ToEngine);
      } catch (error) {
        this.#pending.delete(id);
        settled();
        // Functions and DOM nodes, for example, cannot be posted.
        reject(new WordloomError('input', `This cannot be handed to the engine: ${text(error)}`, { cause: error }));
      }
    });
  }

  /** Aborts pending calls, and terminates the worker when the device's memory is free. */
  destroy(reason = 'The translator was destroyed.'): void {
    if (this.#over) return;
    this.#end(aborted(reason));
    this.#channel.post({ type: 'destroy' });
    this.#lastMoments = setTimeout(() => this.#channel.close(), LAST_MOMENTS_MS);
  }

  #receive(message: FromEngine): void {
    switch (message.type) {
      case 'progress':
        if (!this.#over) this.#progress?.(message.event);
        break;
      case 'partial':
        this.#pending.get(message.id)?.partial?.(message.partial as never);
        break;
      case 'done':
        this.#take(message.id)?.resolve(message.value as never);
        break;
      case 'failed':
        this.#take(message.id)?.reject(fromWire(message.error));
        break;
      case 'crashed':
        this.#crash(fromWire(message.error));
        break;
      case 'destroyed':
        clearTimeout(this.#lastMoments);
        this.#channel.close();
        break;
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #crash(error: WordloomError): void {
    const first = !this.#over;
    this.#end(error);
    if (first) this.#channel.close();
  }

  #end(error: WordloomError): void {
    this.#over ??= error;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const call of pending) call.reject(again(error));
  }
}

/** A copy of the error for each caller, with its own stack. */
function again(error: WordloomError): WordloomError {
  return new WordloomError(error.kind, error.message, { cause: error, code: error.code, values: error.values });
}

export function abortedBy(signal: AbortSignal | undefined): WordloomError {
  return new WordloomError('aborted', 'The call was cancelled.', { cause: signal?.reason });
}

function text(error: unknown): string {
  return toWordloomError(error).message;
}
