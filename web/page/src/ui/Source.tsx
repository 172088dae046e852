/** The source text. */
import { useRef } from 'preact/hooks';

import { ChooseDocument } from '../documents/ChooseDocument.tsx';
import { languageName, languageTag } from '../engine/languages.ts';
import { text } from '../settings.ts';
import { pair } from '../translation/direction.ts';
import { selectAt } from '../translation/selection.ts';
import { SourceLight } from '../attention/SourceLight.tsx';
import { CloseIcon } from './icons.tsx';
import { LanguagePicker } from './LanguagePicker.tsx';
import { sizeClass } from './size.ts';
import { SwapButton } from './SwapButton.tsx';
import { t } from '../texts/texts.ts';

export function Source() {
  const field = useRef<HTMLTextAreaElement>(null);
  const code = pair.value.source;
  const value = text.value;
  const followCaret = (): void => {
    if (field.current !== null) selectAt(field.current.selectionStart);
  };
  return (
    <section class="pane" aria-label={t('Source text')}>
      <div class="pane__head">
        <label class="sr-only" for="source">
          {languageName(code) ?? t('Your text')}
        </label>
        <LanguagePicker side="from" name={languageName(code) ?? t('Your text')} />
        <div class="pane__buttons">
          {value !== '' && (
            <button
              type="button"
              class="icon-button"
              aria-label={t('Clear the text')}
              title={t('Clear the text')}
              onClick={() => {
                text.value = '';
                field.current?.focus();
              }}
            >
              <CloseIcon />
            </button>
          )}
          <SwapButton />
        </div>
      </div>
      <div class="pane__field">
      <SourceLight field={field} size={sizeClass(value)} />
      <textarea
        id="source"
        ref={field}
        class={`text ${sizeClass(value)}`}
        dir="auto"
        lang={(code === null ? null : languageTag(code)) ?? undefined}
        value={value}
        placeholder={t('Type here …')}
        autocomplete="off"
        autocapitalize="sentences"
        spellcheck
        onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyUp={followCaret}
        onClick={followCaret}
      />
      </div>
      <div class="pane__foot quiet">
        <span class="number">{value === '' ? '' : t('{count} characters', { count: value.length.toLocaleString('en') })}</span>
        <ChooseDocument />
      </div>
    </section>
  );
}
