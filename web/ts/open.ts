import { directChannel, workerChannel } from './channel.js';
import type { WireSource } from './protocol.js';
import { toWire } from './source.js';
import { Client } from './client.js';
import { openTraceBehind, type OpenTraceOptions, type Trace } from './trace.js';
import { connect } from './translator.js';
import type { CreateOptions } from './types.js';

/** Opens a model in a worker, or in this thread. `bundled` is the default model. */
export async function openInBrowser(options: CreateOptions, bundled: WireSource | undefined) {
  const wire = toWire(options, bundled, globalThis.location.href);
  return connect(options.worker === false ? directChannel : workerChannel, wire, options);
}

/**
 * Opens a trace file (`docs/trace.md`), JSON or safetensors, trusted or not. It needs no model and runs in a separate worker
 * (`worker: false`: in this thread) that ends with `close`.
 */
export async function openTrace(
  file: Blob | ArrayBuffer | Uint8Array,
  options: OpenTraceOptions = {},
): Promise<Trace> {
  const open = (worker: boolean) => (worker ? workerChannel() : directChannel());
  return openTraceBehind((channel) => new Client(channel, undefined), open, file, options);
}
