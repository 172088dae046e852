/** Reads and writes documents in a worker, so that the page does not freeze and only documents download their module. */
import { DocumentServer } from './document-server.js';
import { fetchBeside } from './fetch-module.js';
import type { FromEngine } from './protocol.js';
import { startWasm } from './wasm-start.js';
import init from './wordloom_web_documents.js';

const startModule = () =>
  startWasm(init, () => fetchBeside(new URL('./wordloom_web_documents_bg.wasm', import.meta.url)));
const server = new DocumentServer(startModule, (message: FromEngine, transfer) => self.postMessage(message, { transfer }));

self.onmessage = ({ data }) => server.receive(data);
self.onmessageerror = () => server.crash(new Error('a message could not be read'));
// The page gets errors, but not unhandled rejections.
self.onunhandledrejection = ({ reason }) => server.crash(reason);
