/** Banners: what happened and what to do about it. One at a time for each subject. */
import { signal } from '@preact/signals';

export interface Action {
  readonly label: string;
  readonly run: () => void;
}

export interface Notice {
  /** A newer notice about the same subject takes its place. */
  readonly about: 'load' | 'translate' | 'attention' | 'search' | 'mute' | 'copy' | 'update' | 'drop';
  readonly tone: 'error' | 'info';
  readonly title: string;
  readonly advice?: string;
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
