import { dismiss, notices } from '../notices.ts';
import { CloseIcon } from './icons.tsx';
import { t, told } from '../texts/texts.ts';

/** Banners above the text. Screen readers announce errors at once, others in a pause. */
export function Notices() {
  return (
    <div class="notices">
      {notices.value.map((notice) => (
        <div
          class={`notice notice--${notice.tone}`}
          role={notice.tone === 'error' ? 'alert' : 'status'}
          key={notice.about}
        >
          <div class="notice__words">
            <p>{told(notice.title)}</p>
            {notice.advice !== undefined && <p class="quiet">{told(notice.advice)}</p>}
            {notice.original !== undefined && (
              <details class="quiet">
                <summary>{t('The message in English')}</summary>
                <span lang="en">{notice.original}</span>
              </details>
            )}
          </div>
          {notice.actions !== undefined && notice.actions.length > 0 && (
            <div class="notice__actions">
              {notice.actions.map(({ label, run }) => (
                <button
                  type="button"
                  class="button"
                  key={label}
                  onClick={() => {
                    dismiss(notice);
                    run();
                  }}
                >
                  {told(label)}
                </button>
              ))}
            </div>
          )}
          <button
            type="button"
            class="icon-button notice__close"
            aria-label={t('Dismiss')}
            title={t('Dismiss')}
            onClick={() => dismiss(notice)}
          >
            <CloseIcon />
          </button>
        </div>
      ))}
    </div>
  );
}
