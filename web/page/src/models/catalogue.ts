/** The models that this page can use: built in, stored in this browser, listed by the site, or looked up by the user. */
import { computed, signal } from '@preact/signals';
import { describeHubModel, readModelList, removeStoredModel, storedModels } from 'wordloom';
import type { Languages, ListedModel, ModelList, StoredModel } from 'wordloom';

import { kindOf, messageOf } from '../engine/explain.ts';
import { plainTag } from '../engine/languages.ts';
import { forget, residents, running } from '../engine/load.ts';
import { builtIn, choiceKey, languages as languagesOf, modelName } from '../engine/source.ts';
import type { ModelChoice } from '../engine/source.ts';
import { notify } from '../notices.ts';
import type { Offer } from './offers.ts';

const LIST = 'models.json';
const CACHE = 'wordloom-models';

const listed = signal<readonly ListedModel[]>([]);
const stored = signal<readonly StoredModel[]>([]);
const lookedUp = signal<readonly Offer[]>([]);

/** Every model, each once. */
export const offers = computed<readonly Offer[]>(() => {
  const all = new Map<string, Offer>();
  const add = (offer: Offer): void => {
    const known = all.get(offer.key);
    all.set(offer.key, known === undefined ? offer : joined(known, offer));
  };
  add(bundledOffer());
  listed.value.forEach((model) => add(listedOffer(model)));
  stored.value.forEach((model) => add(storedOffer(model)));
  lookedUp.value.forEach(add);
  for (const { choice, info } of [running.value, running.value?.via, ...residents.value].filter((now) => now != null)) {
    const pairs = [...pairsOf(info.model.languages, languagesOf(choice).source), ...ownPair(choice)];
    add({ ...empty(choice), pairs, languages: manyOf(info.model.languages), here: true });
  }
  return [...all.values()];
});

/**
 * Reads the list of an earlier visit, or else the site's. A site without one offers its built-in model, and those that the user
 * names.
 */
export async function readList(): Promise<void> {
  const kept = await keptList();
  if (kept === null) await refreshList();
  else showList(kept);
}

/** Reads the site's list, and keeps it for visits without a network. */
export async function refreshList(): Promise<void> {
  try {
    const list = await readModelList(LIST);
    showList(list);
    const cache = await caches.open(CACHE);
    await cache.put(LIST, new Response(JSON.stringify(list)));
  } catch (error) {
    // without a list or a network, the other models are still there
    if (kindOf(error) === 'input') console.info(error instanceof Error ? error.message : String(error));
  }
}

/** The list that this page has checked and kept; null if there is none. */
async function keptList(): Promise<ModelList | null> {
  try {
    const answer = await (await caches.open(CACHE)).match(LIST);
    return answer === undefined ? null : ((await answer.json()) as ModelList);
  } catch {
    return null;
  }
}

function showList({ models, skipped }: ModelList): void {
  listed.value = models;
  const own = models.find(({ url }) => url === bundledUrl());
  const [pair] = own?.pairs ?? [];
  if (own !== undefined) builtIn.value = { name: own.name, pair: pair === undefined ? null : [plainTag(pair[0]), plainTag(pair[1])] };
  for (const reason of skipped) console.info(`${LIST}: ${reason}`);
}

/** Looks into the browser's storage. */
export async function readStored(): Promise<void> {
  stored.value = await storedModels();
}

/** Removes a model from the browser's storage and from memory. */
export async function remove(offer: Offer): Promise<void> {
  if (offer.stored === null) return;
  forget(offer.key);
  try {
    await removeStoredModel(offer.stored);
    lookedUp.value = lookedUp.peek().filter(({ key }) => key !== offer.key);
  } catch (error) {
    notify({ about: 'load', tone: 'error', title: messageOf(error) });
  }
  await readStored();
}

/** Asks the hub about a model that the user has named. */
export async function lookUp(name: string, signal: AbortSignal): Promise<Offer> {
  const { model, bytes, licence } = await describeHubModel(name, { signal });
  const choice: ModelChoice = { kind: 'hub', name: model };
  const offer = { ...empty(choice), pairs: ownPair(choice), bytes, licence };
  lookedUp.value = [...lookedUp.peek().filter(({ key }) => key !== offer.key), offer];
  return offer;
}

function bundledUrl(): string {
  return new URL('model/', document.baseURI).href;
}

function empty(choice: ModelChoice): Offer {
  const common = { key: choiceKey(choice), choice, name: modelName(choice) };
  return { ...common, pairs: [], languages: [], bytes: null, licence: null, here: false, stored: null };
}

function bundledOffer(): Offer {
  const choice: ModelChoice = { kind: 'bundled' };
  return { ...empty(choice), name: builtIn.value.name, pairs: ownPair(choice), here: true };
}

function listedOffer({ name, pairs, languages, bytes, licence, url, manifest }: ListedModel): Offer {
  const own = pairs.map(([from, to]) => [plainTag(from), plainTag(to)] as const);
  const choice: ModelChoice =
    url === bundledUrl()
      ? { kind: 'bundled' }
      : { kind: 'url', url, name, manifest, ...(own[0] === undefined ? {} : { pair: own[0] }) };
  return { ...empty(choice), name, pairs: own, languages: plainTags(languages), bytes, licence };
}

function storedOffer({ id, model, endpoint, complete, bytes, languages, pair }: StoredModel): Offer {
  const tags = pair === null ? null : ([plainTag(pair[0]), plainTag(pair[1])] as const);
  const known = tags === null ? {} : { pair: tags };
  const choice: ModelChoice =
    model === null || model === bundledUrl()
      ? { kind: 'bundled' }
      : /^https?:/.test(model)
        ? { kind: 'url', url: model, ...known }
        : { kind: 'hub', name: model, ...known, ...(endpoint === undefined ? {} : { endpoint }) };
  const pairs = languages === null || languages.target.length === 0 ? ownPair(choice) : pairsOf(languages, tags?.[0] ?? null);
  const many = languages === null ? [] : manyOf(languages);
  const removable = choice.kind === 'bundled' ? null : id;
  return { ...empty(choice), pairs, languages: many, bytes, here: complete, stored: removable };
}

/** The pair of a model of one pair, by its name or its files. */
function ownPair(choice: ModelChoice): (readonly [string, string])[] {
  const { source, target } = languagesOf(choice);
  return source === null || target === null ? [] : [[plainTag(source), plainTag(target)]];
}

/** The pairs of a model with a choice of targets or of tasks. */
function pairsOf({ source, target, pairs }: Languages, from: string | null): (readonly [string, string])[] {
  if (pairs !== null) return pairs.map(([one, other]) => [plainTag(one), plainTag(other)]);
  if (source.length > 0 || from === null) return [];
  return target.map((to) => [plainTag(from), plainTag(to)]);
}

function manyOf({ source, target, pairs }: Languages): string[] {
  return pairs === null && source.length > 0 ? plainTags([...source, ...target]) : [];
}

function plainTags(codes: readonly string[]): string[] {
  return [...new Set(codes.map(plainTag))];
}

/** Two descriptions of one model. */
function joined(one: Offer, other: Offer): Offer {
  return {
    ...one,
    pairs: one.pairs.length > 0 ? one.pairs : other.pairs,
    languages: one.languages.length > 0 ? one.languages : other.languages,
    bytes: one.bytes ?? other.bytes,
    licence: one.licence ?? other.licence,
    here: one.here || other.here,
    stored: one.stored ?? other.stored,
  };
}
