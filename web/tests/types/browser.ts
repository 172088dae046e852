/** What holds in browsers only, compiled as bundlers see the package. */
import { Translator } from 'wordloom/core';

export async function usage(): Promise<void> {
  // @ts-expect-error core brings no model
  await Translator.create({ device: 'cpu' });
}
