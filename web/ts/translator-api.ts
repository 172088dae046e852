/** `Translator` as browsers define it, for browsers without one: English to German. */
import { Translator as Engine } from './index.js';
import type { Availability } from './availability.js';
import { createFor, languages, type Languages, StandIn, type StandInOptions } from './stand-in.js';

export type { Availability } from './availability.js';
export type { CreateMonitor, Languages, StandInOptions } from './stand-in.js';

export class Translator extends StandIn {
  static async availability(options: Languages): Promise<Availability> {
    return Engine.availability(languages(options));
  }

  static async create(options: StandInOptions): Promise<Translator> {
    const pair = languages(options);
    return new Translator(pair, await createFor(Engine, pair, options));
  }
}
