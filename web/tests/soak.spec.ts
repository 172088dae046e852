/**
 * Many translations with options at random: the same texts as alone, and memory that does not grow.
 *
 * `WORDLOOM_SOAK=10000` translates so many on the CPU, `WORDLOOM_SOAK=10000:gpu` on a GPU or a software adapter.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from './support/harness.ts';

const [COUNT = '100', DEVICE = 'cpu'] = (process.env['WORDLOOM_SOAK'] ?? '').split(':').filter(Boolean);
const count = Number(COUNT);
/** Texts of a round, after which memory is read. */
const ROUND = Math.max(50, Math.ceil(count / 20));
/** Growth that is no leak: of free lists. */
const ROOM = 12 << 20;

const pairs = readFileSync(new URL('../../tests/data/tatoeba-test.tsv', import.meta.url), 'utf8').split('\n');
const texts = pairs.slice(0, 60).map((pair) => pair.split('\t')[0]!);
texts[0] = `${texts[1]} ${texts[2]}\n\n${texts[3]}`;
texts[1] = '';

test('many texts with mixed options', async ({ api, browser }) => {
  test.setTimeout(60_000 + count * 2000);
  const session = await browser.newBrowserCDPSession();
  /** Bytes of the browser, its pages and its GPU process in memory, without garbage. Its other services start when they like. */
  const resident = async () => {
    await session.send('Memory.simulatePressureNotification', { level: 'critical' });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const ours = processInfo.filter(({ type }) => ['browser', 'renderer', 'GPU'].includes(type));
    return ours.reduce((sum, { id }) => {
      const [, kilobytes = '0'] = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${id}/status`, 'utf8')) ?? [];
      return sum + Number(kilobytes) * 1024;
    }, 0);
  };
  await api.evaluate(async (options) => {
    Object.assign(globalThis, { soak: await start(options) });

    async function start({ texts, device }: { texts: string[]; device: 'cpu' | 'gpu' }) {
      const { Translator } = wordloom;
      // the numbers of a linear congruential generator: the same in every run
      let state = 1;
      const below = (end: number) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * end);
      };
      const head = ['cross.1.3'] as const;
      const alone = new Map<string, string>();
      let translator = await Translator.create({ device });
      let other = await Translator.create({ device });
      let muted = false;
      let cancelled = 0;
      let calls = 0;
      /** What the text is translated to by a translator that does nothing else. */
      const expected = async (text: string, beams: number) => {
        const key = JSON.stringify([text, beams, muted]);
        if (!alone.has(key)) {
          await other.mute(muted ? head : []);
          alone.set(key, (await other.translate(text, { beams })).text);
        }
        return alone.get(key)!;
      };
      const call = async () => {
        const text = texts[below(texts.length)]!;
        const beams = [1, 4][below(2)]!;
        const kept = [{}, {}, {}, { keepAttention: true }, { alignments: true }, { nBest: 1 }][below(6)]!;
        const abort = new AbortController();
        const stops = below(12) === 0;
        if (stops) setTimeout(() => abort.abort(), below(40));
        try {
          const found = await translator.translate(text, { beams, ...kept, signal: abort.signal });
          const want = await expected(text, beams);
          if (found.text !== want) throw new Error(`${text}, ${beams} beams, muted: ${muted}: ${found.text}, alone ${want}`);
        } catch (error) {
          if (!(stops && (error as Error).name === 'AbortError')) throw error;
          cancelled += 1;
        }
        calls += 1;
        if (below(20) === 0) {
          muted = !muted;
          await translator.mute(muted ? head : []);
        }
        if (calls % 150 === 0) {
          const small = await Translator.create({ device, model: '/fixtures/marian_tied/' });
          await small.translate('abc', { beams: 2, maxLength: 8 });
          small.destroy();
          translator.destroy();
          translator = await Translator.create({ device });
          muted = false;
        }
      };
      return async (round: number) => {
        for (let done = 0; done < round; done += 1) await call();
        return { cancelled, translator: translator.info.device.name };
      };
    }
  }, { texts, device: DEVICE as 'cpu' | 'gpu' });

  const sizes: number[] = [];
  for (let done = 0; done < count; done += ROUND) {
    const round = Math.min(ROUND, count - done);
    const { cancelled, translator } = await api.evaluate(
      (round) => (globalThis as unknown as { soak(round: number): Promise<{ cancelled: number; translator: string }> }).soak(round),
      round,
    );
    sizes.push(await resident());
    if (count > 100) console.log(`${done + round} texts on ${translator}, ${cancelled} cancelled, ${(sizes.at(-1)! / 2 ** 20).toFixed(0)} MiB`);
  }
  // the browser takes memory of ended workers back late, and readings of one state differ by 100 MiB: their middle counts, without those
  // of the first texts; short runs have too few
  const middle = (readings: number[]) => readings.toSorted((a, b) => a - b)[readings.length >> 1]!;
  const settled = sizes.slice(2);
  const half = settled.length >> 1;
  const [early, late] = [middle(settled.slice(0, half)), middle(settled.slice(half))];
  if (count > 100) console.log(`the middle of the first half: ${(early / 2 ** 20).toFixed(0)} MiB, of the second: ${(late / 2 ** 20).toFixed(0)} MiB`);
  if (count >= 5000) expect(late).toBeLessThan(early * 1.02 + ROOM);
});
