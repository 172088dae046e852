/** Starts the worker first, so that the model loads while the page is drawn. */
import { render } from 'preact';

import { followLight } from './attention/target-light.ts';
import { followAttention } from './attention/traces.ts';
import { loadStarting } from './engine/load.ts';
import { readList, readStored } from './models/catalogue.ts';
import { keepOffline } from './offline.ts';
import { followPermalinks } from './permalink.ts';
import { followSearch } from './search/searches.ts';
import { device, keepSettings } from './settings.ts';
import { startLanguage } from './texts/texts.ts';
import { startTranslating } from './translation/live.ts';
import { App } from './ui/App.tsx';

import './styles/index.css';

startLanguage();
void loadStarting(device.peek()).then(readStored);
void readStored();
followPermalinks();
startTranslating();
followAttention();
followLight();
followSearch();
keepSettings();
render(<App />, document.getElementById('page') ?? document.body);
keepOffline();
void readList();
