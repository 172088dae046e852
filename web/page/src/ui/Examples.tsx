import { text } from '../settings.ts';
import { pair } from '../translation/direction.ts';
import { t } from '../texts/texts.ts';

const EXAMPLES: readonly { text: string; label?: string }[] = [
  { text: 'Where is the train station?' },
  { text: 'Anna and David fly to Madrid on Friday.' },
  {
    text: "The animal didn't cross the street because it was too tired.",
    label: "The animal didn't cross the street …",
  },
];

/** Example sentences, if the text is English. */
export function Examples() {
  if (pair.value.source !== 'en') return null;
  return (
    <div class="examples" role="group" aria-label={t('Examples')}>
      <span class="quiet" aria-hidden="true">
        {t('Try')}
      </span>
      {EXAMPLES.map((example) => (
        <button type="button" class="example" key={example.text} onClick={() => (text.value = example.text)}>
          {example.label ?? example.text}
        </button>
      ))}
    </div>
  );
}
