import { directChannel, workerChannel } from './channel.js';
import type { WireSource } from './protocol.js';
import { toWire } from './source.js';
import { connect } from './translator.js';
import type { CreateOptions } from './types.js';

/** A model behind a worker, or in this thread; `bundled` is the one for those who name none. */
export async function openInBrowser(options: CreateOptions, bundled: WireSource | undefined) {
  const wire = toWire(options, bundled, globalThis.location.href);
  return connect(options.worker === false ? directChannel : workerChannel, wire, options);
}
