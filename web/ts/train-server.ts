/** The training's side of a channel: a run of steps, and calls that come between its steps; and the check of a GPU. */
import { aborted, toWire, WordloomError } from './errors.js';
import { pause } from './pause.js';
import type { Calls, FromEngine, Method, ToEngine } from './protocol.js';
import type { TrainProgress, WireTraining } from './train-types.js';
import { checkDevice, Pupil } from './wordloom_web_train.js';

type Call = Extract<ToEngine, { type: 'call' }>;

/** Time between two messages of progress, milliseconds. Other calls wait about as long. */
const TURN_MS = 120;
/** The most steps between two reads of the losses. */
const MOST_STEPS = 16;

export class TrainServer {
  readonly #startModule: () => Promise<void>;
  readonly #post: (message: FromEngine, transfer: ArrayBuffer[]) => void;
  readonly #aborts = new Map<number, AbortController>();
  #pupil: Pupil | undefined;
  /** The end of the queue: calls of the module must not overlap. */
  #last: Promise<unknown> = Promise.resolve();
  #destroyed = false;

  constructor(startModule: () => Promise<void>, post: (message: FromEngine, transfer: ArrayBuffer[]) => void) {
    this.#startModule = startModule;
    this.#post = post;
  }

  receive(message: ToEngine): void {
    switch (message.type) {
      case 'call':
        void this.#run(message);
        break;
      case 'abort':
        this.#aborts.get(message.id)?.abort();
        break;
      case 'destroy':
        this.#destroy();
        break;
    }
  }

  /** Reports a failure outside of any call. */
  crash(error: unknown): void {
    const { message } = toWire(error);
    this.#post({ type: 'crashed', error: { kind: 'internal', message: `The training has crashed: ${message}` } }, []);
  }

  async #run(call: Call): Promise<void> {
    const controller = new AbortController();
    this.#aborts.set(call.id, controller);
    try {
      const value = await this.#answer(call, controller.signal);
      this.#post({ type: 'done', id: call.id, value }, []);
    } catch (error) {
      // A trap leaves the module in an unknown state.
      if (error instanceof WebAssembly.RuntimeError) this.crash(error);
      else this.#post({ type: 'failed', id: call.id, error: toWire(error) }, []);
    } finally {
      this.#aborts.delete(call.id);
    }
  }

  #answer(call: Call, signal: AbortSignal): Promise<Calls[Method]['output']> {
    switch (call.method) {
      case 'trainCreate':
        return this.#inTurn(signal, () => this.#create(call.input, signal));
      case 'trainSteps':
        return this.#steps(call.id, call.input, call.stream, signal);
      case 'trainStep':
        return this.#inTurn(signal, async (pupil) => pupil.info().step);
      case 'trainCheck':
        return this.#inTurn(signal, (pupil) => pupil.check(call.input));
      case 'trainPredict':
        return this.#inTurn(signal, (pupil) => pupil.predict(call.input));
      case 'trainAttention':
        return this.#inTurn(signal, (pupil) => pupil.attention(call.input));
      case 'trainColours':
        return this.#inTurn(signal, async (pupil) => pupil.colours(call.input));
      case 'checkDevice':
        return this.#check(call.id, call.input);
      case 'trainFiles':
        return this.#inTurn(signal, (pupil) => pupil.files(call.input));
      default:
        throw new WordloomError('internal', `A training has no call ${call.method}.`);
    }
  }

  /** Runs `work` when all earlier work is done. `create` ignores its argument, which does not exist yet. */
  #inTurn<T>(signal: AbortSignal, work: (pupil: Pupil) => Promise<T>): Promise<T> {
    const done = this.#last.then(() => {
      if (signal.aborted || this.#destroyed) throw aborted('The training was stopped.');
      return work(this.#pupil as Pupil);
    });
    this.#last = done.catch(() => {});
    return done;
  }

  async #create({ options, resume, device }: WireTraining, signal: AbortSignal): Promise<Calls['trainCreate']['output']> {
    await this.#startModule();
    const pupil = resume === null ? await Pupil.create(options ?? '{}', device) : await Pupil.resume(resume, device);
    if (signal.aborted || this.#destroyed) {
      pupil.free();
      throw aborted('The training was stopped.');
    }
    this.#pupil = pupil;
    return pupil.info();
  }

  async #check(id: number, device: string): Promise<Calls['checkDevice']['output']> {
    await this.#startModule();
    return checkDevice(device, (fraction) => this.#post({ type: 'partial', id, partial: fraction }, []));
  }

  async #steps(id: number, count: number, stream: boolean, signal: AbortSignal): Promise<TrainProgress> {
    let atOnce = 1;
    let result: TrainProgress | undefined;
    for (let taken = 0; taken < count; ) {
      const steps = Math.min(atOnce, count - taken);
      const begun = performance.now();
      result = await this.#inTurn(signal, (pupil) => pupil.steps(steps));
      taken += steps;
      if (stream) this.#post({ type: 'partial', id, partial: result }, []);
      const took = performance.now() - begun;
      atOnce = Math.max(1, Math.min(MOST_STEPS, 2 * steps, Math.floor((steps * TURN_MS) / Math.max(1, took))));
      // messages arrive only between tasks
      await pause();
    }
    if (result === undefined) throw new WordloomError('input', `steps is ${count}; it must be at least 1.`);
    return result;
  }

  #destroy(): void {
    this.#destroyed = true;
    for (const controller of this.#aborts.values()) controller.abort();
    // a running step ends first: its memory is still in use
    void this.#last.then(() => {
      this.#pupil?.free();
      this.#pupil = undefined;
      this.#post({ type: 'destroyed' }, []);
    });
  }
}
