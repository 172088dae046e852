/** A turn of the event loop, by a message: timers have a minimal delay, and promises let no other task run. */

const waiting: (() => void)[] = [];
let channel: MessageChannel | undefined;

export function pause(): Promise<void> {
  // In Node, a port would keep the process alive.
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
