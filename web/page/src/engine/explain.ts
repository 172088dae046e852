/** Turns errors into notices: the error's message, and advice by its kind. */
import type { EngineInfo, ErrorKind } from 'wordloom';

import type { Action, Notice } from '../notices.ts';
import type { DeviceChoice } from '../settings.ts';
import { sentence } from '../words.ts';
import { modelName } from './source.ts';
import type { ModelChoice } from './source.ts';
import { problem, t, told } from '../texts/texts.ts';

type Load = (choice: ModelChoice, device: DeviceChoice) => Promise<void>;

export function kindOf(error: unknown): ErrorKind {
  const kind: unknown =
    typeof error === 'object' && error !== null && 'kind' in error ? error.kind : undefined;
  return typeof kind === 'string' ? (kind as ErrorKind) : 'internal';
}

export function isAbort(error: unknown): boolean {
  return kindOf(error) === 'aborted';
}

/** The notice for a model that could not be loaded. `load` is for its buttons. */
export function explainLoad(error: unknown, choice: ModelChoice, device: DeviceChoice, load: Load): Notice {
  return { ...originalOf(error), ...noticeOfLoad(error, choice, device, load) };
}

function noticeOfLoad(error: unknown, choice: ModelChoice, device: DeviceChoice, load: Load): Notice {
  const kind = kindOf(error);
  const again: Action = { label: 'Try again', run: () => void load(choice, device) };
  const onCpu: Action = { label: 'Run on the CPU', run: () => void load(choice, 'cpu') };
  const others = choice.kind === 'bundled' ? [] : [builtIn(device, load)];
  const devices = device === 'cpu' ? [] : [onCpu];

  const about = 'load';
  const tone = 'error';
  const title = `${t('“{name}” could not be loaded.', { name: modelName(choice) })} ${messageOf(error)}`;
  switch (kind) {
    case 'network':
      // the message itself has the advice
      return {
        about,
        tone,
        title,
        advice: 'What has arrived is kept: trying again goes on from there.',
        actions: [again, ...others],
      };
    case 'integrity':
      return {
        about,
        tone,
        title,
        advice: 'The damaged copy is gone.',
        actions: [again, ...others],
      };
    case 'memory':
      return {
        about,
        tone,
        title,
        advice: 'Close other tabs, free some storage, choose a smaller model, or run this one on the CPU.',
        actions: [again, ...devices, ...others],
      };
    case 'access':
      return { about, tone, title, advice: 'This page takes no token. A program of your own can: see the README of the npm package.', actions: others };
    case 'unsupported':
      // the model is at fault, not the browser
      if (!/WebGPU|WebAssembly/.test(englishOf(error))) return { about, tone, title, actions: others };
      return device === 'gpu'
        ? { about, tone, title, advice: 'The CPU translates without WebGPU.', actions: [onCpu, again] }
        : {
            about,
            tone,
            title,
            advice: 'A current Chrome, Edge, Firefox or Safari can.',
            actions: [again, ...others],
          };
    case 'device-lost':
      return { about, tone, title, advice: 'Try again, or run on the CPU.', actions: [again, ...devices] };
    case 'input':
      return {
        about,
        tone,
        title,
        advice:
          'A folder holds config.json, model.safetensors or pytorch_model.bin, and the files of its tokenizer, for a Marian model ' +
          'source.spm, target.spm and vocab.json, as the Hugging Face hub has them.',
        actions: choice.kind === 'folder' ? others : [again, ...others],
      };
    default:
      return {
        about,
        tone,
        title,
        advice: 'This is a fault of Wordloom.',
        actions: [again, ...devices, ...others],
      };
  }
}

/** The notice for a model without a tokenizer, or one that does not translate. */
export function explainIdsOnly(
  { architecture, idsOnly }: EngineInfo['model'],
  choice: ModelChoice,
  device: DeviceChoice,
  load: Load,
): Notice {
  const name = modelName(choice);
  const words =
    architecture === 'encoder-decoder'
      ? {
          title: `${t('“{name}” cannot translate.', { name })} ${sentence(idsOnly ?? '')}`,
          advice:
            'The tokenizer belongs into the folder: source.spm, target.spm and vocab.json of a Marian model, ' +
            'spiece.model or sentencepiece.bpe.model of another.',
        }
      : {
          title:
            architecture === 'encoder-only'
              ? t('“{name}” cannot translate: it is an encoder alone.', { name })
              : t('“{name}” cannot translate: it is a decoder alone.', { name }),
          advice: 'Models that translate are Marian, mBART, M2M100, NLLB and T5.',
        };
  const actions = choice.kind === 'bundled' ? [] : [builtIn(device, load)];
  return { about: 'load', tone: 'error', ...words, actions };
}

function builtIn(device: DeviceChoice, load: Load): Action {
  return { label: 'Use the built-in model', run: () => void load({ kind: 'bundled' }, device) };
}

const FAILED = {
  translate: 'This text could not be translated.',
  document: 'The document could not be translated.',
  attention: 'The attention could not be computed.',
  microscope: 'The numbers could not be computed.',
  search: 'The search could not be shown.',
  mute: 'The heads could not be muted.',
  swap: 'The attention could not be swapped.',
  switch: 'The parts could not be switched.',
} as const;

/** The notice for a failed translation or attention map. */
export function explainWork(
  error: unknown,
  about: keyof typeof FAILED,
  retry: Action,
  reload: Action,
): Notice {
  return { ...originalOf(error), ...noticeOfWork(error, about, retry, reload) };
}

function noticeOfWork(error: unknown, about: keyof typeof FAILED, retry: Action, reload: Action): Notice {
  const kind = kindOf(error);
  const title = `${told(FAILED[about])} ${messageOf(error)}`;
  const tone = 'error';
  switch (kind) {
    case 'device-lost':
      return {
        about,
        tone,
        title,
        advice: 'Load the model once more, or choose another device.',
        actions: [reload],
      };
    case 'memory':
      return { about, tone, title, advice: 'Use fewer beams or a shorter text.', actions: [retry, reload] };
    case 'internal':
      return {
        about,
        tone,
        title,
        advice: 'Your text is safe. Load the model once more.',
        actions: [reload],
      };
    default:
      return { about, tone, title, actions: [retry] };
  }
}

/** The error in the page's language. */
export function messageOf(error: unknown): string {
  return problem(error, kindOf(error), englishOf(error));
}

function englishOf(error: unknown): string {
  return sentence(error instanceof Error ? error.message : String(error));
}

/** The engine's own words, if the page shows others. */
function originalOf(error: unknown): { original?: string } {
  const english = englishOf(error);
  return messageOf(error).includes(english) ? {} : { original: english };
}
