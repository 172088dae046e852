/** Training in a worker of its own, so that translations do not wait for it and only training downloads its module. */
import { fetchBeside } from './fetch-module.js';
import type { FromEngine } from './protocol.js';
import { TrainServer } from './train-server.js';
import { startWasm } from './wasm-start.js';
import init from './wordloom_web_train.js';

const startModule = () =>
  startWasm(init, () => fetchBeside(new URL('./wordloom_web_train_bg.wasm', import.meta.url)));
const server = new TrainServer(startModule, (message: FromEngine, transfer) => self.postMessage(message, { transfer }));

self.onmessage = ({ data }) => server.receive(data);
self.onmessageerror = () => server.crash(new Error('a message could not be read'));
// The page gets errors, but not unhandled rejections.
self.onunhandledrejection = ({ reason }) => server.crash(reason);
