/** Line icons, 20 × 20. They stand beside words, so they are hidden from screen readers. */
import type { ComponentChildren } from 'preact';

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

/** Two threads of warp and two of weft, over and under each other. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false">
      <rect class="mark__cloth" width="32" height="32" rx="8" />
      <path class="mark__warp" d="M11.5 6.5v10.4M11.5 24.9v.6M20.5 6.5v.6M20.5 15.1v10.4" />
      <path class="mark__weft" d="M6.5 11.5h.6M15.1 11.5h10.4M6.5 20.5h10.4M24.9 20.5h.6" />
    </svg>
  );
}

export const ChevronIcon = () => (
  <Icon>
    <path d="M6 8l4 4 4-4" />
  </Icon>
);
export const CloseIcon = () => (
  <Icon>
    <path d="M5.5 5.5l9 9M14.5 5.5l-9 9" />
  </Icon>
);
export const CopyIcon = () => (
  <Icon>
    <rect x="7" y="7" width="9" height="9" rx="2" />
    <path d="M13 7V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v5a2 2 0 0 0 2 2h1" />
  </Icon>
);
export const DoneIcon = () => (
  <Icon>
    <path d="M4.5 10.5l3.5 3.5 7.5-8" />
  </Icon>
);
export const BackIcon = () => (
  <Icon>
    <path d="M12 5l-5 5 5 5" />
  </Icon>
);
export const NextIcon = () => (
  <Icon>
    <path d="M8 5l5 5-5 5" />
  </Icon>
);
export const LessonIcon = () => (
  <Icon>
    <path d="M10 5.5C8.5 4.5 6.5 4 4 4v11c2.5 0 4.5.5 6 1.5M10 5.5v11M10 5.5c1.5-1 3.5-1.5 6-1.5v11c-2.5 0-4.5.5-6 1.5" />
  </Icon>
);
export const DownloadIcon = () => (
  <Icon>
    <path d="M10 4v8M6.5 9l3.5 3.5L13.5 9M5 15.5h10" />
  </Icon>
);
export const RemoveIcon = () => (
  <Icon>
    <path d="M4.5 6.5h11M8 6.5V5h4v1.5M6 6.5l.6 9h6.8l.6-9M8.8 9.2v3.8M11.2 9.2v3.8" />
  </Icon>
);
export const SwapIcon = () => (
  <Icon>
    <path d="M4.5 7.5h10M11.5 4.5l3 3-3 3M15.5 12.5h-10M8.5 9.5l-3 3 3 3" />
  </Icon>
);
export const FolderIcon = () => (
  <Icon>
    <path d="M3 6.5q0-1.5 1.5-1.5h3l2 2h6q1.5 0 1.5 1.5v6q0 1.5-1.5 1.5h-11q-1.5 0-1.5-1.5z" />
  </Icon>
);
export const FileIcon = () => (
  <Icon>
    <path d="M6 3.5h5l4 4v9H6q-1 0-1-1v-11q0-1 1-1zM11 3.5v4h4M7.5 11h5M7.5 13.5h3.5" />
  </Icon>
);
export const ListIcon = () => (
  <Icon>
    <path d="M4 5.5h12M4 10h9M4 14.5h6" />
  </Icon>
);
export const GaugeIcon = () => (
  <Icon>
    <path d="M4 14.5h3M8.5 14.5h3M13 14.5h3M4 11h2M8.5 11V5.5h3V11M13 11V9h3v2" />
  </Icon>
);
export const PlayIcon = () => (
  <Icon>
    <path d="M7 4.8v10.4l8.2-5.2z" />
  </Icon>
);
export const PauseIcon = () => (
  <Icon>
    <path d="M7.5 5v10M12.5 5v10" />
  </Icon>
);
export const LinkIcon = () => (
  <Icon>
    <path d="M8.5 11.5a3 3 0 0 0 4.2 0l2.4-2.4a3 3 0 0 0-4.2-4.2l-1 1M11.5 8.5a3 3 0 0 0-4.2 0l-2.4 2.4a3 3 0 0 0 4.2 4.2l1-1" />
  </Icon>
);
export const TreeIcon = () => (
  <Icon>
    <path d="M4 10h3.5M7.5 10q2 0 2-2.5t2-2.5H16M7.5 10q2 0 2 2.5t2 2.5H16M9.5 10H16" />
  </Icon>
);
export const GridIcon = () => (
  <Icon>
    <rect x="4" y="4" width="12" height="12" rx="1.5" />
    <path d="M8 4v12M12 4v12M4 8h12M4 12h12" />
  </Icon>
);
