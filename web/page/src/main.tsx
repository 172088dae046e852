/** Starts the worker before anything is drawn: the model loads while the page is built. */
import { render } from 'preact';

import { followAttention } from './attention/maps.ts';
import { load, startingChoice } from './engine/load.ts';
import { keepOffline } from './offline.ts';
import { device, keepSettings } from './settings.ts';
import { startTranslating } from './translation/live.ts';
import { App } from './ui/App.tsx';

import './styles/index.css';

void load(startingChoice(), device.peek());
startTranslating();
followAttention();
keepSettings();
render(<App />, document.getElementById('page') ?? document.body);
keepOffline();
