/** The longest tasks of the main thread, in processor time, which does not depend on the machine's load. */
import type { Page } from '@playwright/test';

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time in microseconds. */
  readonly tdur?: number;
  readonly args: { readonly name?: string; readonly data?: { readonly url?: string } };
}

/** Runs `work`. Returns the milliseconds of the main thread's longest tasks, longest first. */
export async function longestTasks(page: Page, work: () => Promise<void>): Promise<number[]> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('there is no browser to trace');
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  await work();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const threads = new Map<string, string>();
  for (const { name, pid, tid, args } of trace.traceEvents) {
    if (name === 'thread_name' && args.name !== undefined) threads.set(`${pid}/${tid}`, args.name);
  }
  const tasks = trace.traceEvents
    .filter(({ name, ph, pid, tid }) => {
      return ph === 'X' && name.endsWith('RunTask') && threads.get(`${pid}/${tid}`) === 'CrRendererMain';
    })
    .map(({ tdur }) => (tdur ?? 0) / 1000);
  if (tasks.length === 0) throw new Error('the trace holds no tasks of the main thread');
  return tasks.sort((a, b) => b - a).slice(0, 10);
}
