/** The tree of a beam search, and names of heads. */
import type { AttentionKind, CallOptions, Hypothesis, SearchOptions, Token } from './types.js';

/** A sentence and the options of its search: greedy or with beams, because sampling has no tree. */
export interface SearchTreeInput
  extends CallOptions, Omit<SearchOptions, 'sample' | 'temperature' | 'topK' | 'topP' | 'seed'> {
  /** The source tokens of a translated `Sentence`. */
  sourceTokens: readonly Token[];
  /** Ids of target tokens, after the start token, that the translation must begin with. Default: none. */
  prefix?: readonly number[];
  /** The language that the sentence was translated from. */
  sourceLanguage?: string;
  targetLanguage?: string;
}

/** The tree of a search. */
export interface SearchTree {
  /** Number of beams; 1 is greedy search. */
  beams: number;
  /** Exponent of the length: the score is the sum of log-probabilities over the length to this power. */
  lengthPenalty: number;
  /** Best first, with the start token and the prefix, whose tokens have no `logProbability`. */
  hypotheses: Hypothesis[];
  /** Every candidate token. Parents precede their children; within a step, the best come first. */
  nodes: SearchNode[];
}

/** A candidate token of a search. */
export interface SearchNode {
  /** The index of the parent node; `null` is the start token, or the prefix. */
  parent: number | null;
  /** Number of tokens after the root, including this one. */
  step: number;
  id: number;
  /** The tokenizer's spelling: `▁Wo`. */
  piece: string;
  /** Natural logarithm of the probability, given the tokens before. */
  logProbability: number;
  /** Sum of log-probabilities from the root on. With length penalty p, a finished hypothesis scores `sum / step ** p`. */
  sum: number;
  /** `kept` as a beam, `finished` as a hypothesis, or `rejected`: others were better. */
  fate: 'kept' | 'finished' | 'rejected';
  /** Whether it is an end token. */
  ends: boolean;
  /** The text of a finished hypothesis. */
  text?: string;
}

/** `cross.2.5`: the kind, the layer and the head, counted from 0. */
export type HeadName = `${AttentionKind}.${number}.${number}`;
