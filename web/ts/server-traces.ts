/** The traces of an engine, by number, and their methods. If a GPU translates, it holds their weights. */
import { COLOUR_MAPS, oneOf, onlyKnown, shown } from './check-input.js';
import { aborted, WordloomError } from './errors.js';
import { explained } from './explain.js';
import { npz } from './npz.js';
import { pause } from './pause.js';
import type { Calls } from './protocol.js';
import type { HeadStatistics, MapView, TracedSentence, WireTrace } from './trace-types.js';
import type { AttentionKind, Token } from './types.js';
import type { Trace } from './wordloom_web.js';

interface Kept {
  readonly trace: Trace;
  readonly sentences: TracedSentence[];
  /** Cached statistics by sentence and kind, because ranks of long texts are slow. */
  readonly statistics: Map<string, HeadStatistics[]>;
  /** The end of the queue of pictures. Pictures are painted one at a time and share buffers. */
  painted: Promise<unknown>;
}

export class Traces {
  readonly #kept = new Map<number, Kept>();
  #next = 0;

  /** `scores` are the target tokens' scores, if the search gave them. */
  keep(trace: Trace, scores: readonly (readonly Token[])[] = []): WireTrace {
    const { model, sentences } = trace.describe();
    const id = this.#next++;
    for (const [index, { targetTokens }] of sentences.entries()) {
      for (const [place, token] of targetTokens.entries()) {
        const known = scores[index]?.[place]?.logProbability;
        if (known !== undefined) token.logProbability ??= known;
      }
    }
    this.#kept.set(id, { trace, sentences, statistics: new Map(), painted: Promise.resolve() });
    return { id, model, sentences };
  }

  map({ trace, which }: Calls['traceMap']['input']): Promise<Calls['traceMap']['output']> {
    return this.#get(trace).trace.map(which);
  }

  async paint(
    { trace, which, view }: Calls['tracePaint']['input'],
    signal: AbortSignal,
  ): Promise<Calls['tracePaint']['output']> {
    const kept = this.#get(trace);
    const picture = kept.painted.then(() => {
      // a later request may have replaced it while it waited
      if (signal.aborted) throw aborted();
      return this.#get(trace).trace.paint(which, completeView(view));
    });
    const done = (): void => {};
    kept.painted = picture.then(done, done);
    const { width, height, rgba } = await picture;
    return { width, height, rgba: new Uint8ClampedArray(rgba.buffer) };
  }

  /** Head by head, so that other calls are answered in between. */
  async statistics(
    { trace, kind, sentence }: Calls['traceStatistics']['input'],
    signal: AbortSignal,
  ): Promise<HeadStatistics[]> {
    const { sentences, statistics } = this.#get(trace);
    const key = `${sentence}/${kind}`;
    const known = statistics.get(key);
    if (known) return known;
    const shape = kindOf(sentences[sentence], kind);
    const all: HeadStatistics[] = [];
    for (const layer of shape.layers) {
      for (let head = 0; head < shape.heads; head += 1) {
        all.push(await this.#get(trace).trace.statistics({ sentence, kind, layer, head }));
        await pause();
        if (signal.aborted) throw aborted();
      }
    }
    statistics.set(key, all);
    return all;
  }

  async explain({ trace, which }: Calls['traceExplain']['input']): Promise<Calls['traceExplain']['output']> {
    return explained(await this.#get(trace).trace.explain(which));
  }

  async file(
    { trace, format, sentence }: Calls['traceFile']['input'],
    signal: AbortSignal,
  ): Promise<Calls['traceFile']['output']> {
    const kept = this.#get(trace);
    switch (format) {
      case 'json':
        return kept.trace.json();
      case 'safetensors':
        return kept.trace.safetensors();
      case 'npz': {
        const described = kept.sentences[sentence];
        if (!described) throw new WordloomError('input', `There is no sentence ${sentence}.`);
        return npz(described, async (head) => {
          if (signal.aborted) throw aborted();
          return (await this.#get(trace).trace.map({ sentence, ...head })).weights;
        });
      }
      default:
        throw new WordloomError('input', 'The format can be "json", "safetensors" or "npz".');
    }
  }

  close(id: number): undefined {
    this.#kept.get(id)?.trace.free();
    this.#kept.delete(id);
  }

  closeAll(): void {
    for (const id of [...this.#kept.keys()]) this.close(id);
  }

  #get(id: number): Kept {
    const kept = this.#kept.get(id);
    if (!kept) throw new WordloomError('input', 'This trace is closed.');
    return kept;
  }
}

interface ViewPart {
  isRight(value: unknown): boolean;
  what: string;
}

const whole: ViewPart = { isRight: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32, what: 'a whole number from 0 on' };
const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
const isPair = (value: unknown) => Array.isArray(value) && value.length === 2 && value.every(isNumber);
const isByte = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
const optional = ({ isRight, what }: ViewPart): ViewPart => ({ isRight: (value) => value === undefined || isRight(value), what });

/** The numbers of a view. */
const VIEW_PARTS = {
  width: whole,
  height: whole,
  cell: { isRight: isPair, what: 'a list of two numbers' },
  origin: optional({ isRight: isPair, what: 'a list of two numbers' }),
  gap: optional({ isRight: isNumber, what: 'a number' }),
  // Infinity stands for all rows
  rows: optional({ isRight: (value) => value === Infinity || whole.isRight(value), what: whole.what }),
  background: optional({
    isRight: (value) => Array.isArray(value) && value.length === 4 && value.every(isByte),
    what: 'a list of four whole numbers from 0 to 255',
  }),
} satisfies Record<string, ViewPart>;

function completeView(view: MapView): Required<MapView> {
  if (typeof view !== 'object' || view === null) {
    throw new WordloomError('input', 'view is missing: the size of the picture and of its cells.');
  }
  onlyKnown('view', view, [...Object.keys(VIEW_PARTS), 'scale', 'colours']);
  for (const [name, { isRight, what }] of Object.entries(VIEW_PARTS)) {
    const value: unknown = view[name as keyof typeof VIEW_PARTS];
    if (isRight(value)) continue;
    throw new WordloomError('input', `view.${name} is ${value === undefined ? 'missing' : shown(value)}; it must be ${what}.`);
  }
  const { origin = [0, 0], gap = 0, scale = 'linear', colours = 'viridis', background = [0, 0, 0, 0], rows, ...size } = view;
  oneOf('view.scale', scale, ['linear', 'logarithmic', 'rows']);
  oneOf('view.colours', colours, COLOUR_MAPS);
  return { ...size, origin, gap, scale, colours, background, rows: Math.min(rows ?? 0xffff_ffff, 0xffff_ffff) };
}

function kindOf(sentence: TracedSentence | undefined, kind: AttentionKind) {
  const found = sentence?.kinds.find((one) => one.kind === kind);
  if (!found) throw new WordloomError('input', `The trace has no ${kind} attention of that sentence.`);
  return found;
}
