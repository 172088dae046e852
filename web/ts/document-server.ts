/** The worker's side of a document: it is read, and written with translations that come from elsewhere. */
import type { WireText } from './document-types.js';
import { fromWire, toWire, WordloomError } from './errors.js';
import type { Calls, FromEngine, Method, ToEngine } from './protocol.js';
import { DocumentFile } from './wordloom_web_documents.js';

type Call = Extract<ToEngine, { type: 'call' }>;

export class DocumentServer {
  readonly #startModule: () => Promise<void>;
  readonly #post: (message: FromEngine, transfer: ArrayBuffer[]) => void;
  #file: DocumentFile | undefined;

  constructor(startModule: () => Promise<void>, post: (message: FromEngine, transfer: ArrayBuffer[]) => void) {
    this.#startModule = startModule;
    this.#post = post;
  }

  receive(message: ToEngine): void {
    if (message.type === 'call') void this.#run(message);
    // nothing else is held: the caller ends the worker
    else if (message.type === 'destroy') this.#post({ type: 'destroyed' }, []);
  }

  /** Reports a failure outside of any call. */
  crash(error: unknown): void {
    const { message } = toWire(error);
    this.#post({ type: 'crashed', error: { kind: 'internal', message: `The reader of documents has crashed: ${message}` } }, []);
  }

  async #run(call: Call): Promise<void> {
    try {
      const value = await this.#answer(call);
      this.#post({ type: 'done', id: call.id, value }, value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : []);
    } catch (error) {
      // A trap leaves the module in an unknown state.
      if (error instanceof WebAssembly.RuntimeError) this.crash(error);
      else this.#post({ type: 'failed', id: call.id, error: toWire(error) }, []);
    }
  }

  async #answer(call: Call): Promise<Calls[Method]['output']> {
    switch (call.method) {
      case 'documentRead':
        return this.#read(call.input);
      case 'documentWrite':
        return this.#write(call.input);
      default:
        throw new WordloomError('internal', `A document has no call ${call.method}.`);
    }
  }

  async #read({ name, data, columns }: Calls['documentRead']['input']): Promise<Calls['documentRead']['output']> {
    await this.#startModule();
    const bytes = data instanceof Blob ? new Uint8Array(await contentOf(data, name)) : new Uint8Array(data);
    try {
      this.#file = DocumentFile.read(bytes, name, columns);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) throw error;
      const wire = toWire(error);
      throw wire.message.includes(name) ? error : fromWire({ ...wire, message: `${name}: ${wire.message}` });
    }
    return this.#file.texts();
  }

  #write(translations: WireText[]): Uint8Array<ArrayBuffer> {
    if (this.#file === undefined) throw new WordloomError('internal', 'No document was read.');
    return this.#file.write(JSON.stringify(translations));
  }
}

async function contentOf(file: Blob, name: string): Promise<ArrayBuffer> {
  try {
    return await file.arrayBuffer();
  } catch (error) {
    // moved, changed or deleted since it was chosen
    throw new WordloomError('input', `${name} cannot be read any more; choose it again.`, { cause: error });
  }
}
