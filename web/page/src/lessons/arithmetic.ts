/** Numbers of an explanation, and what the lessons compute of them. */
import type { Explanation, StepKind } from 'wordloom';

/** The values of a step by name; empty if the model has no such step. */
export function valuesOf({ steps }: Explanation, kind: StepKind, name: string): readonly number[] {
  const found = steps.find((step) => step.kind === kind)?.numbers.find((numbers) => numbers.name === name);
  return [...(found?.values ?? [])];
}

export function softmax(scores: readonly number[]): number[] {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
}

export function variance(values: readonly number[]): number {
  const centre = mean(values);
  return mean(values.map((value) => (value - centre) ** 2));
}

/** Cosine of the angle between two vectors. */
export function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
  const length = (of: readonly number[]): number => Math.sqrt(of.reduce((sum, value) => sum + value * value, 0));
  return dot / (length(one) * length(other) || 1);
}
