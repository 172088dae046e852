/** The kind of an error, for programs. */
export type ErrorKind =
  | 'network' // a file cannot be fetched
  | 'access' // a model needs a token, or another one
  | 'integrity' // a file's checksum is wrong
  | 'memory' // the device, this tab or the browser's storage is full
  | 'unsupported' // this browser, device or model does not support it
  | 'device-lost' // the GPU was lost twice in one call
  | 'input' // an option, a text or a model file is not valid
  | 'aborted' // an AbortSignal fired, or the translator was destroyed
  | 'internal'; // a bug in Wordloom

const KINDS: ReadonlySet<string> = new Set<ErrorKind>([
  'network',
  'access',
  'integrity',
  'memory',
  'unsupported',
  'device-lost',
  'input',
  'aborted',
  'internal',
]);

/** The stable name of an error, and the values in its message: for texts in another language. Not every error has a name. */
export interface ErrorName {
  readonly code?: string | undefined;
  readonly values?: Readonly<Record<string, string | number>> | undefined;
}

/** Every error of this package. An abort's name is `AbortError`, as everywhere on the web. */
export class WordloomError extends Error implements ErrorName {
  readonly kind: ErrorKind;
  readonly code: string | undefined;
  readonly values: Readonly<Record<string, string | number>> | undefined;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions & ErrorName) {
    super(message, options);
    this.kind = kind;
    this.code = options?.code;
    this.values = options?.values;
    this.name = kind === 'aborted' ? 'AbortError' : 'WordloomError';
  }

  /** Entries of the package bring copies of this class. An error of one copy is an instance of all of them. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== WordloomError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof Error && /^(Wordloom|Abort)Error$/.test(value.name) && 'kind' in value && KINDS.has(String(value.kind));
  }
}

/** Converts a thrown value to a `WordloomError`. A value without a kind is a bug in Wordloom. */
export function toWordloomError(thrown: unknown): WordloomError {
  if (thrown instanceof WordloomError) return thrown;
  const { kind, message, code, values } = toWire(thrown);
  return new WordloomError(kind, message, { cause: thrown, code, values });
}

/** An error in a message. Structured cloning of an `Error` would drop its kind. */
export interface WireError extends ErrorName {
  kind: ErrorKind;
  message: string;
}

export function toWire(thrown: unknown): WireError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const kind: unknown = typeof thrown === 'object' && thrown !== null && 'kind' in thrown ? thrown.kind : undefined;
  if (typeof kind === 'string' && KINDS.has(kind)) {
    const { code, values } = thrown as ErrorName;
    return { kind: kind as ErrorKind, message, ...(code === undefined ? {} : { code, values }) };
  }
  if (thrown instanceof DOMException && thrown.name === 'AbortError') return { kind: 'aborted', message };
  return { kind: 'internal', message };
}

export function fromWire(error: WireError): WordloomError {
  return new WordloomError(error.kind, error.message, error);
}

export function aborted(message = 'The call was cancelled.'): WordloomError {
  return new WordloomError('aborted', message);
}
