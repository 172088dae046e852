/** A program for Node, compiled without the DOM's types. */
import { Translator as Whole } from 'wordloom';
import { Translator as Core } from 'wordloom/core';

export async function usage(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  await Whole.create({ model: './a/folder' });
  await Whole.create({ model: [new File([bytes], 'config.json')] });
  // both are one in Node, and bring a model
  await Core.create({ device: 'cpu' });
  // @ts-expect-error a number is no model
  await Core.create({ model: 5 });
}
