/** The choice of a language, in place of the title for models of one pair. */
import type { Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

import { languageNames } from '../engine/languages.ts';
import { ChevronIcon } from './icons.tsx';

interface Props {
  readonly label: string;
  /** The model's codes; the same array as long as they are equal. */
  readonly codes: readonly string[];
  readonly value: string;
  /** The stored choice. */
  readonly choice: Signal<string | null>;
  /** A hint for the user. */
  readonly hint?: string | undefined;
}

export function LanguageSelect({ label, codes, value, choice, hint }: Props) {
  const names = useMemo(() => languageNames(codes), [codes]);
  const id = `language-${label.toLowerCase()}`;
  return (
    <div class="language">
      <label class="pane__title" for={id}>
        {label}
      </label>
      <span class="language__box">
        <select
          id={id}
          class="language__list"
          value={value}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onChange={(event) => (choice.value = event.currentTarget.value)}
          // leaving the field confirms its value
          onBlur={(event) => {
            if (hint !== undefined) choice.value = event.currentTarget.value;
          }}
        >
          {names.map(({ code, name }) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </select>
        <ChevronIcon />
      </span>
      {hint !== undefined && (
        <span class="quiet" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}
