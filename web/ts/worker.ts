/** The engine in a worker of a browser. */
import { browser } from './browser.js';
import type { FromEngine } from './protocol.js';
import { Server } from './server.js';

const server = new Server(browser, (message: FromEngine, transfer) => self.postMessage(message, { transfer }));

self.onmessage = ({ data }) => server.receive(data);
self.onmessageerror = () => server.crash(new Error('a message could not be read'));
// The page gets errors, but not unhandled rejections.
self.onunhandledrejection = ({ reason }) => server.crash(reason);
