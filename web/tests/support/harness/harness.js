// Puts the package where tests find it.
import * as wordloom from '/dist/index.js';
import * as core from '/dist/core.js';
import * as standIn from '/dist/translator-api.js';

Object.assign(globalThis, { wordloom, core, standIn });
globalThis.ready = true;
