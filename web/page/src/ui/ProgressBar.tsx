import type { Progress } from '../engine/progress.ts';
import { told } from '../texts/texts.ts';

export function ProgressBar({ progress }: { progress: Progress }) {
  return (
    <div class="progress">
      <p class="progress__words">
        {told(progress.step)} <span class="number quiet">{progress.detail}</span>
      </p>
      {progress.done === null ? (
        <progress class="thin" aria-label={told(progress.step)} />
      ) : (
        <progress class="thin" aria-label={told(progress.step)} value={progress.done} max={progress.total} />
      )}
    </div>
  );
}
