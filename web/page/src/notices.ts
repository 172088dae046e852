/** Banners with a message and advice, at most one for each subject. */
import { signal } from '@preact/signals';

export interface Action {
  readonly label: string;
  readonly run: () => void;
}

export interface Notice {
  /** The subject; a newer notice replaces an older one. */
  readonly about: 'load' | 'translate' | 'document' | 'attention' | 'microscope' | 'search' | 'mute' | 'swap' | 'switch' | 'copy' | 'update' | 'drop';
  readonly tone: 'error' | 'info';
  readonly title: string;
  readonly advice?: string;
  /** The engine's own words, in English, if the title has others. */
  readonly original?: string;
  readonly actions?: readonly Action[];
}

export const notices = signal<readonly Notice[]>([]);

export function notify(notice: Notice): void {
  notices.value = [...notices.peek().filter(({ about }) => about !== notice.about), notice];
}

export function dismiss(notice: Notice): void {
  notices.value = notices.peek().filter((other) => other !== notice);
}

export function dismissAll(about: Notice['about']): void {
  if (notices.peek().some((notice) => notice.about === about)) {
    notices.value = notices.peek().filter((notice) => notice.about !== about);
  }
}
