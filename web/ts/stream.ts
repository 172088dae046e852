/** Partial results. A slow consumer gets the latest one, never a backlog. */
import type { Partial, Translation } from './types.js';

export class PartialStream implements AsyncIterableIterator<Partial> {
  #latest: Partial | undefined;
  #failure: { error: unknown } | undefined;
  #ended = false;
  #waiting: (() => void)[] = [];
  readonly #cancel: () => void;

  /** `cancel` is called when the consumer leaves before the end. */
  constructor(cancel: () => void) {
    this.#cancel = cancel;
  }

  push(partial: Partial): void {
    if (this.#ended) return;
    this.#latest = partial;
    this.#wake();
  }

  finish(translation: Translation): void {
    if (this.#ended) return;
    this.#latest = { stable: translation.text, provisional: '', translation };
    this.#ended = true;
    this.#wake();
  }

  /** The abort of a consumer that has left is not its failure. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#latest = undefined;
    this.#failure = { error };
    this.#ended = true;
    this.#wake();
  }

  async next(): Promise<IteratorResult<Partial, undefined>> {
    while (true) {
      if (this.#latest) {
        const value = this.#latest;
        this.#latest = undefined;
        return { done: false, value };
      }
      if (this.#failure) {
        const { error } = this.#failure;
        this.#failure = undefined;
        throw error;
      }
      if (this.#ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async return(): Promise<IteratorResult<Partial, undefined>> {
    const early = !this.#ended;
    this.#ended = true;
    this.#latest = undefined;
    this.#failure = undefined;
    if (early) this.#cancel();
    this.#wake();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
