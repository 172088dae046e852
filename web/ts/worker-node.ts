/** The engine in a worker thread of Node. An unhandled error ends the thread, and the caller gets it. */
import { parentPort } from 'node:worker_threads';
import { node } from './platform-node.js';
import { Server } from './server.js';

const port = parentPort;
if (!port) throw new Error('this is the script of a worker thread');
const server = new Server(node, (message, transfer) => port.postMessage(message, transfer));
port.on('message', (message) => server.receive(message));
