/** What went wrong, for programs. */
export type ErrorKind =
  | 'network' // a file could not be fetched
  | 'integrity' // a file is not what its checksum says
  | 'memory' // the device, this tab or the browser's storage has no room
  | 'unsupported' // this browser, this device or this model cannot do it
  | 'device-lost' // the GPU went away, twice in one call
  | 'input' // an option, a text or a model file is not valid
  | 'aborted' // an AbortSignal fired, or the translator was destroyed
  | 'internal'; // a fault of Wordloom

const KINDS: ReadonlySet<string> = new Set<ErrorKind>([
  'network',
  'integrity',
  'memory',
  'unsupported',
  'device-lost',
  'input',
  'aborted',
  'internal',
]);

/** Every rejection and every throw of this package. An abort is called `AbortError`, as everywhere on the web. */
export class WordloomError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.name = kind === 'aborted' ? 'AbortError' : 'WordloomError';
  }
}

/** Anything that was thrown, as a `WordloomError`. What names no kind is a fault of ours. */
export function toWordloomError(thrown: unknown): WordloomError {
  if (thrown instanceof WordloomError) return thrown;
  const { kind, message } = toWire(thrown);
  return new WordloomError(kind, message, { cause: thrown });
}

/** An error as it crosses the border of a worker, where structured cloning would drop its kind. */
export interface WireError {
  kind: ErrorKind;
  message: string;
}

export function toWire(thrown: unknown): WireError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const kind: unknown = typeof thrown === 'object' && thrown !== null && 'kind' in thrown ? thrown.kind : undefined;
  if (typeof kind === 'string' && KINDS.has(kind)) return { kind: kind as ErrorKind, message };
  if (thrown instanceof DOMException && thrown.name === 'AbortError') return { kind: 'aborted', message };
  return { kind: 'internal', message };
}

export function fromWire(error: WireError): WordloomError {
  return new WordloomError(error.kind, error.message);
}

export function aborted(message = 'The translation was cancelled.'): WordloomError {
  return new WordloomError('aborted', message);
}
