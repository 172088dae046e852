/** What a search leaves to be looked at, and which heads stay silent. */
import type { AttentionKind, CallOptions, Hypothesis, SearchOptions, Token } from './types.js';

/** One sentence, and how to search for its translation. Samples have no tree: the search is greedy or has beams. */
export interface SearchTreeInput
  extends CallOptions, Omit<SearchOptions, 'sample' | 'temperature' | 'topK' | 'topP' | 'seed'> {
  /** Of a translated `Sentence`. */
  sourceTokens: readonly Token[];
  /** Ids of target tokens, those after the start token, that the translation is to begin with. Default: none. */
  prefix?: readonly number[];
  /** As the sentence was translated. */
  sourceLanguage?: string;
  targetLanguage?: string;
}

/** All that a search looked at. */
export interface SearchTree {
  /** How many hypotheses it followed; 1: greedy. */
  beams: number;
  /** What it ranked by: the sum of log-probabilities over the length to this power. */
  lengthPenalty: number;
  /** Best first, with the start token and the prefix, whose tokens have no `logProbability`. */
  hypotheses: Hypothesis[];
  /** Every token that was weighed. Parents come before their children; within a step the best come first. */
  nodes: SearchNode[];
}

export interface SearchNode {
  /** The index of the node that it continues; `null`: the start token, or the prefix. */
  parent: number | null;
  /** Tokens from there to this one, this one included. */
  step: number;
  id: number;
  /** As the tokenizer has it: `▁Wo`. */
  piece: string;
  /** After the tokens before it, natural logarithm. */
  logProbability: number;
  /** Of all of these from the root on. Under a length penalty p a finished hypothesis scores `sum / step ** p`. */
  sum: number;
  /** `kept` as a beam, `finished` as a hypothesis, or `rejected`: others were better. */
  fate: 'kept' | 'finished' | 'rejected';
  /** Whether it is an end token, after which nothing comes. */
  ends: boolean;
  /** Of a finished hypothesis, all of it. */
  text?: string;
}

/** `cross.2.5`: the kind, the layer and the head, counted from 0. */
export type HeadName = `${AttentionKind}.${number}.${number}`;
