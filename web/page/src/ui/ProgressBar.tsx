import type { Progress } from '../engine/progress.ts';

export function ProgressBar({ progress }: { progress: Progress }) {
  return (
    <div class="progress">
      <p class="progress__words">
        {progress.step} <span class="number quiet">{progress.detail}</span>
      </p>
      {progress.done === null ? (
        <progress class="thin" aria-label={progress.step} />
      ) : (
        <progress class="thin" aria-label={progress.step} value={progress.done} max={progress.total} />
      )}
    </div>
  );
}
