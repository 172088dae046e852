/** A turn of the event loop. Messages have no minimal delay, as timers have, and promises would let no task in. */

const waiting: (() => void)[] = [];
let channel: MessageChannel | undefined;

export function pause(): Promise<void> {
  // Node has a turn of its own; a port would keep the process alive.
  if (typeof setImmediate === 'function') return new Promise((resolve) => void setImmediate(resolve));
  if (!channel) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()?.();
  }
  const { port2 } = channel;
  return new Promise((resolve) => {
    waiting.push(resolve);
    port2.postMessage(null);
  });
}
