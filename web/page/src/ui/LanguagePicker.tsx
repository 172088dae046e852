/** A language of one side, and the popover to choose another: models on this device first, then those to download. */
import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hubName } from 'wordloom';

import { messageOf } from '../engine/explain.ts';
import { languageName, ownName } from '../engine/languages.ts';
import { cancelLoad, loading, progress, running } from '../engine/load.ts';
import { megabytes } from '../engine/progress.ts';
import { choiceKey } from '../engine/source.ts';
import { lookUp, offers, readStored, refreshList, remove } from '../models/catalogue.ts';
import { rowsOf } from '../models/offers.ts';
import type { Offer, Row, Side } from '../models/offers.ts';
import { pick } from '../models/pick.ts';
import { notify } from '../notices.ts';
import { sourceLanguage, targetLanguage } from '../settings.ts';
import { pair } from '../translation/direction.ts';
import { ChevronIcon, DoneIcon, DownloadIcon, RemoveIcon } from './icons.tsx';
import { t, told } from '../texts/texts.ts';

interface Props {
  readonly side: Side;
  /** The name of the language, or of the side if it is unknown. */
  readonly name: string;
  /** A hint for the user, who confirms it by closing the popover. */
  readonly hint?: string | undefined;
}

const open = signal<Side | null>(null);

export function LanguagePicker({ side, name, hint }: Props) {
  const trigger = useRef<HTMLButtonElement>(null);
  const shown = open.value === side;
  const id = `picker-${side}`;
  const close = (refocus: boolean): void => {
    if (open.peek() !== side) return;
    open.value = null;
    const { source, target } = pair.peek();
    if (hint !== undefined && side === 'from') sourceLanguage.value = source;
    if (hint !== undefined && side === 'to') targetLanguage.value = target;
    if (refocus) trigger.current?.focus();
  };
  return (
    <div class="picker">
      <button
        ref={trigger}
        type="button"
        class="picker__button"
        aria-haspopup="dialog"
        aria-expanded={shown}
        aria-controls={shown ? id : undefined}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        aria-label={`${side === 'from' ? t('From') : t('To')}: ${name}`}
        onClick={() => (shown ? close(true) : (open.value = side))}
      >
        {name}
        <ChevronIcon />
      </button>
      {hint !== undefined && (
        <span class="quiet" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {shown && <Popover id={id} side={side} trigger={trigger} close={close} />}
    </div>
  );
}

interface PopoverProps {
  readonly id: string;
  readonly side: Side;
  readonly trigger: RefObject<HTMLButtonElement | null>;
  readonly close: (refocus: boolean) => void;
}

function Popover({ id, side, trigger, close }: PopoverProps) {
  const box = useRef<HTMLDivElement>(null);
  const [words, setWords] = useState('');
  // before the next key is pressed
  useLayoutEffect(() => box.current?.querySelector('input')?.focus(), []);
  useEffect(() => {
    void readStored();
    void refreshList();
    const outside = (event: Event): void => {
      const target = event.target as Node;
      if (!box.current?.contains(target) && !trigger.current?.contains(target)) close(false);
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, []);
  const rows = useMemo(() => sorted(rowsOf(offers.value, side, pair.value)), [offers.value, side, pair.value]);
  const found = rows.filter((row) => matches(row, words));
  const [here, away] = [found.filter(({ offer }) => offer.here), found.filter(({ offer }) => !offer.here)];
  const title = side === 'from' ? t('Translate from') : t('Translate to');
  return (
    <div
      ref={box}
      id={id}
      class="picker__box"
      role="dialog"
      aria-label={title}
      onKeyDown={(event) => walk(event, box.current, () => close(true))}
      onFocusOut={(event) => {
        const next = event.relatedTarget as Node | null;
        if (next !== null && !box.current?.contains(next) && next !== trigger.current) close(false);
      }}
    >
      <input
        class="field picker__field"
        type="text"
        aria-label={`${title}: ${t('find a language, or name a model')}`}
        placeholder={t('Language or owner/model')}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <div class="picker__lists">
        <Groups title={t('On this device')} rows={here} side={side} close={close} />
        <Groups title={t('To download')} rows={away} side={side} close={close} />
        <NamedModel words={words.trim()} close={close} />
        {found.length === 0 && hubName(words.trim()) === undefined && (
          <p class="picker__none quiet">
            {t('No model here knows “{words}”. The name of one on the Hugging Face hub works, too: {example}', {
              words: words.trim(),
              example: 'Helsinki-NLP/opus-mt-en-fr',
            })}
          </p>
        )}
      </div>
    </div>
  );
}

/** The models of pairs, and a group for each model of many languages. */
function Groups({ rows, ...rest }: GroupProps) {
  const many = [...new Set(rows.map(({ offer }) => offer).filter(({ languages }) => languages.length > 0))];
  const pairs = rows.filter(({ offer, via }) => !many.includes(offer) || via !== null);
  return (
    <>
      <Group rows={pairs} {...rest} />
      {many.map((offer) => (
        <Group
          key={offer.key}
          rows={rows.filter((row) => row.offer === offer && row.via === null)}
          model={offer}
          {...rest}
        />
      ))}
    </>
  );
}

interface GroupProps {
  readonly title: string;
  /** The model of all rows, if it has many languages. */
  readonly model?: Offer;
  readonly rows: readonly Row[];
  readonly side: Side;
  readonly close: (refocus: boolean) => void;
}

function Group({ title, model, rows, side, close }: GroupProps) {
  if (rows.length === 0) return null;
  const words = model === undefined ? title : `${title}: ${describe(model)}`;
  return (
    <section class="picker__group" aria-label={words}>
      <div class="picker__head">
        <h3>{words}</h3>
        {model !== undefined && <RemoveButton offer={model} />}
      </div>
      <ul>
        {rows.map((row) => (
          <LanguageRow
            key={`${row.language} ${row.via?.key} ${row.offer.key} ${row.target}`}
            row={row}
            side={side}
            alone={model === undefined}
            close={close}
          />
        ))}
      </ul>
    </section>
  );
}

interface RowProps {
  readonly row: Row;
  readonly side: Side;
  /** Whether the row describes its model. */
  readonly alone: boolean;
  readonly close: (refocus: boolean) => void;
}

function LanguageRow({ row, side, alone, close }: RowProps) {
  const { language, offer } = row;
  const { source, target } = pair.value;
  const keys = runningKeys();
  const isNow =
    keys[0] === offer.key && keys[1] === (row.via?.key ?? null) && language === (side === 'from' ? source : target);
  const isLoading = loading.value !== null && choiceKey(loading.value.choice) === offer.key;
  const name = languageName(language) ?? language;
  const own = ownName(language);
  const other = side === 'from' && row.target !== target ? ` → ${languageName(row.target) ?? row.target}` : '';
  const take = (): void => {
    if (isNow) return close(true);
    void pick(row).then(() => {
      // a failed or stopped load leaves the list open
      const now = running.peek();
      if (now !== null && choiceKey(now.choice) === offer.key) close(true);
    });
  };
  return (
    <li class="picker__row">
      <button type="button" class="picker__item" aria-current={isNow ? 'true' : undefined} onClick={take}>
        <span class="picker__language">
          {name}
          {own !== null && own.toLowerCase() !== name.toLowerCase() && (
            <span class="quiet" lang={language} dir="auto">
              {own}
            </span>
          )}
          {other !== '' && <span class="quiet">{other}</span>}
        </span>
        {alone && <span class="picker__model quiet number">{describeRow(row)}</span>}
        {isNow && <DoneIcon />}
        {!offer.here && !isLoading && <DownloadIcon />}
        {!offer.here && <span class="sr-only">{t('download')}</span>}
      </button>
      {alone && row.via === null && <RemoveButton offer={offer} />}
      {isLoading && <Arriving />}
    </li>
  );
}

/** The running model, and the one before it. */
function runningKeys(): (string | null)[] {
  return [running.value?.choice, running.value?.via?.choice].map((one) => (one ? choiceKey(one) : null));
}

/** Removes a stored model that is not in use. */
function RemoveButton({ offer }: { offer: Offer }) {
  const isLoading = loading.value !== null && choiceKey(loading.value.choice) === offer.key;
  if (offer.stored === null || isLoading || runningKeys().includes(offer.key)) return null;
  return (
    <button
      type="button"
      class="icon-button picker__remove"
      aria-label={t('Remove {name}', { name: offer.name })}
      title={t('Remove {name} from this browser', { name: offer.name })}
      onClick={() => void remove(offer)}
    >
      <RemoveIcon />
    </button>
  );
}

/** The progress of a download, and a button to stop it. What has arrived is kept. */
function Arriving() {
  const now = progress.value;
  return (
    <div class="picker__progress">
      {now === null || now.done === null ? (
        <progress class="thin" aria-label={told(now?.step ?? 'Starting')} />
      ) : (
        <progress class="thin" aria-label={told(now.step)} value={now.done} max={now.total} />
      )}
      <span class="quiet number">{now?.detail ?? ''}</span>
      <button type="button" class="link" onClick={cancelLoad}>
        {t('Stop')}
      </button>
    </div>
  );
}

/** A model of the hub by its name. The hub is asked only when the user clicks. */
function NamedModel({ words, close }: { words: string; close: (refocus: boolean) => void }) {
  const [asking, setAsking] = useState<AbortController | null>(null);
  const [found, setFound] = useState<Offer | null>(null);
  useEffect(() => () => asking?.abort(), [asking]);
  if (hubName(words) === undefined) return null;
  const known = found !== null && found.key === words ? found : null;
  const ask = (): void => {
    const own = new AbortController();
    setAsking(own);
    lookUp(words, own.signal).then(
      (offer) => {
        setAsking(null);
        setFound(offer);
      },
      (error: unknown) => {
        if (own.signal.aborted) return;
        setAsking(null);
        notify({ about: 'load', tone: 'error', title: messageOf(error) });
      },
    );
  };
  const take = (offer: Offer): void => {
    const [source, target] = offer.pairs[0] ?? ['en', ''];
    void pick({ offer, source, target, via: null }).then(() => {
      const now = running.peek();
      if (now !== null && choiceKey(now.choice) === offer.key) close(true);
    });
  };
  const isLoading = known !== null && loading.value !== null && choiceKey(loading.value.choice) === known.key;
  return (
    <section class="picker__group" aria-label={t('Hugging Face hub')}>
      <h3>{t('Hugging Face hub')}</h3>
      <ul>
        <li class="picker__row">
          {known === null ? (
            <button type="button" class="picker__item" disabled={asking !== null} onClick={ask}>
              <span class="picker__language">{words}</span>
              <span class="picker__model quiet">{asking === null ? t('Ask huggingface.co for size and licence') : t('Asking …')}</span>
            </button>
          ) : (
            <button type="button" class="picker__item" onClick={() => take(known)}>
              <span class="picker__language">{known.key}</span>
              <span class="picker__model quiet number">{describe(known, false)}</span>
              {!isLoading && <DownloadIcon />}
              <span class="sr-only">{t('download')}</span>
            </button>
          )}
          {isLoading && <Arriving />}
        </li>
      </ul>
    </section>
  );
}

/** `opus-mt-en-fr · 76.4 MB · apache-2.0` */
function describe({ name, bytes, licence }: Offer, withName = true): string {
  const size = bytes === null ? t('size unknown') : megabytes(bytes);
  return [...(withName ? [name] : []), size, ...(licence === null ? [] : [licence])].join(' · ');
}

function describeRow({ offer, via }: Row): string {
  return via === null ? describe(offer) : t('through English: {first}, then {second}', { first: via.name, second: offer.name });
}

function sorted(rows: readonly Row[]): Row[] {
  const name = ({ language }: Row): string => languageName(language) ?? language;
  return [...rows].sort((one, other) => name(one).localeCompare(name(other), 'en') || (one.offer.bytes ?? 0) - (other.offer.bytes ?? 0));
}

function matches({ language, offer }: Row, words: string): boolean {
  const wanted = words.trim().toLowerCase();
  const texts = [languageName(language), ownName(language), language, offer.name];
  return texts.some((text) => text?.toLowerCase().includes(wanted));
}

/** Arrow keys go through the models; Escape closes. */
function walk(event: KeyboardEvent, box: HTMLElement | null, close: () => void): void {
  if (event.key === 'Escape') {
    event.preventDefault();
    close();
    return;
  }
  const items = [...(box?.querySelectorAll<HTMLElement>('.picker__item') ?? [])];
  const field = box?.querySelector('input') ?? null;
  const at = items.findIndex((item) => item.parentElement?.contains(document.activeElement));
  const inField = document.activeElement === field;
  const to = new Map([
    ['ArrowDown', at + 1],
    ['ArrowUp', at - 1],
    ...(inField ? [] : ([['Home', 0], ['End', items.length - 1]] as const)),
    ...(inField ? ([['Enter', 0]] as const) : []),
  ]).get(event.key);
  if (to === undefined || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  event.preventDefault();
  if (to < 0) field?.focus();
  else items[Math.min(to, items.length - 1)]?.focus();
}
