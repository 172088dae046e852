/** The way to a document without dragging. */
import { useRef } from 'preact/hooks';

import { t } from '../texts/texts.ts';
import { FileIcon } from '../ui/icons.tsx';
import { ACCEPTED, translateFile } from './document.ts';

export function ChooseDocument() {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        class="link document__choose"
        title={t('Word, PowerPoint, OpenDocument, EPUB, HTML, Markdown, subtitles, strings, tables, text')}
        onClick={() => field.current?.click()}
      >
        <FileIcon />
        {t('Translate a file')}
      </button>
      <input
        ref={field}
        type="file"
        class="sr-only"
        tabIndex={-1}
        aria-hidden="true"
        accept={ACCEPTED}
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          currentTarget.value = '';
          if (file !== undefined) void translateFile(file);
        }}
      />
    </>
  );
}
