"""The translator: a model on a device, in this process."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import itertools
import json
import operator
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from . import _native
from ._arrays import array, floats, padded, rows
from ._attention import Attention
from ._glossary import named_lines
from ._progress import bar
from ._results import Generated, Score, Translation, translation, translations

#: Texts and characters that ``translate_iter`` holds at most.
WINDOW_TEXTS = 4096
WINDOW_CHARACTERS = 1 << 20
FIRST_WINDOW = 128

#: Engines of a parent process. They are never freed in a child: their threads and their GPU exist in the parent only.
_of_the_parent: list[Any] = []


#: Arguments of transformers' ``generate`` that Wordloom has not, unless they are ``None``; and the way out.
_MISSING = {
    "assistant_model": "leave it out",
    "decoder_attention_mask": "leave it out, and pass decoder_input_ids without padding",
    "encoder_outputs": "pass input_ids",
    "generation_config": "pass its options themselves",
    "inputs_embeds": "pass input_ids",
    "logits_processor": "leave it out",
    "negative_prompt_attention_mask": "leave it out",
    "negative_prompt_ids": "leave it out",
    "prefix_allowed_tokens_fn": "leave it out; a glossary of translate prescribes terms",
    "stopping_criteria": "leave it out; max_new_tokens limits the length",
    "streamer": "leave it out; translate_iter gives each text as soon as it is there",
}
#: Arguments of ``Translator(…)`` that no call has.
_OF_THE_MODEL = ("model", "device", "weights")
#: Short names of options, and transformers'.
_SHORT = {"beams": "num_beams", "n_best": "num_return_sequences"}


class _Options:
    """What the engine reads of a translation's options, under transformers' names."""

    def __init__(
        self,
        source_lang: str | None = None,
        target_lang: str | None = None,
        task: str | None = None,
        alignments: bool = False,
        document: bool | str = False,
        glossary: Any = None,
        glossary_mode: str = "hard",
        **generation: Any,
    ) -> None:
        self.generation = _json(generation)
        self.source_lang, self.target_lang = _text(source_lang, "source_lang"), _text(target_lang, "target_lang")
        self.task = _text(task, "task")
        self.alignments = bool(alignments)
        if document not in (None, False, True, "truncate"):
            raise ValueError(f'document is {document!r}; pass True, False or "truncate"')
        self.document = "truncate" if document == "truncate" else "whole" if document else None
        self.glossary = named_lines(glossary)
        self.glossary_mode = _text(glossary_mode, "glossary_mode")


#: Options of text. All others are the search's.
_OF_TEXT = tuple(inspect.signature(_Options).parameters)[:-1]
#: Options of the search.
_OF_THE_SEARCH = frozenset(_native.Engine.option_names())


def _long_names(options: dict[str, Any]) -> dict[str, Any]:
    """The given options under transformers' names, without those that are ``None``."""
    return {name: value for name, value in _renamed(options, _OF_TEXT).items() if value is not None}


def _renamed(options: dict[str, Any], others: Iterable[str] = ()) -> dict[str, Any]:
    """The given options under transformers' names: those of a search, and ``others``."""
    for short, long in _SHORT.items():
        if options.get(short) is not None and options.get(long) is not None:
            raise ValueError(f"{short} and {long} are the same; give one")
    found: dict[str, Any] = {}
    for name, value in options.items():
        name = _SHORT.get(name, name)
        if name in _MISSING and value is None:
            continue
        if name not in _OF_THE_SEARCH and name not in others:
            _refuse_unknown(name, others)
        if found.get(name) is None:
            found[name] = value
    return found


def _refuse_unknown(name: str, others: Iterable[str]) -> None:
    """Raises ``ValueError`` for a name that is no option. Transformers has some without effect here, which the engine knows."""
    if name in _MISSING:
        raise ValueError(f"{name} is not supported; {_MISSING[name]}")
    if name in _OF_THE_MODEL:
        raise ValueError(f"{name} is an argument of Translator(…), and no option of a call")
    if name in _OF_TEXT:
        raise ValueError(f"{name} is an option of translate; generate takes token ids, where forced_bos_token_id chooses the language")
    try:
        _native.Engine.check_generation(json.dumps({name: None}))
    except (ValueError, _native.ModelError):
        near = difflib.get_close_matches(name, sorted({*_SHORT, *_OF_THE_SEARCH, *_OF_THE_MODEL, *others}))
        way_out = f"; similar ones are {', '.join(near)}" if near else ""
        raise ValueError(f"there is no option {name!r}{way_out}") from None


def _json(options: dict[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):  # numbers and arrays of NumPy and torch
            return value.tolist()
        raise TypeError(f"an option holds {type(value).__name__}; pass numbers, strings, lists, True, False or None")

    def written(value: Any) -> str:
        text = json.dumps(value, default=plain, allow_nan=False, ensure_ascii=False)
        text.encode()
        return text

    try:
        return written(options)
    except ValueError:
        for name, value in options.items():
            try:
                written(value)
            except UnicodeEncodeError:
                raise ValueError(f"{name} is {value!r}, which has a lone surrogate; pass text") from None
            except ValueError:
                raise ValueError(f"{name} is {value!r}; pass finite numbers, in lists that do not hold themselves") from None
        raise


def _text(value: Any, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{name} is {type(value).__name__}; pass a str")


class Translator:
    """A model on a device.

    * ``model``: a folder as Hugging Face publishes it, a name of its hub (``OWNER/NAME`` or ``OWNER/NAME@REVISION``, fetched
      once), or ``firefox:en-fr``; the English-German model of this package by default
    * ``device``: ``"auto"`` (a hardware GPU, else the CPU), ``"gpu"``, ``"cpu"``, or part of an adapter's name
    * ``weights``: ``"auto"``, ``"f32"``, ``"f16"`` or ``"q8"``: how matrices are stored on the device; ``"w8a8"``: as ``q8``, with inputs
      of products rounded to 8 bits, too: the fastest on a CPU with AVX-512 VNNI, and the least exact
    * ``progress``: whether tqdm, if it is installed, shows the download of a model
    * other options, such as ``beams``, ``max_length``, ``source_lang``, ``target_lang``, ``task`` or ``glossary``: defaults for
      every call of ``translate`` and its relatives. ``generate`` takes those of the search, ``score`` the languages

    A translator may be shared by threads, pickled (the model is loaded again where it is unpickled), and used after ``fork``: the
    child loads the model again at its first call. Calls release the interpreter's lock, and Ctrl-C stops them.

    Raises ``ModelError``, ``HubError``, ``GpuError``, ``GenerateError``, ``TextError`` or ``ValueError``.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        device: str = "auto",
        weights: str = "auto",
        *,
        progress: bool = True,
        **options: Any,
    ) -> None:
        self._set_up(None if model is None else os.fspath(model), device, weights, progress, options)
        engine = self._engine()
        if options:
            engine.check(self._call({}))

    def _set_up(self, model: Any, device: Any, weights: Any, progress: bool, options: dict[str, Any]) -> None:
        if isinstance(model, bytes):
            model = os.fsdecode(model)
        for name, value in (("device", device), ("weights", weights)):
            if not isinstance(value, str):
                raise TypeError(f"{name} is {type(value).__name__}; pass a str")
        options = _long_names(options)
        _Options(**options)  # values that are no JSON are refused here
        self._arguments = (model, device, weights, progress)
        self._options = options
        self._loaded: _native.Engine | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._is_closed = False

    def _engine(self) -> _native.Engine:
        """The engine of this process."""
        self._renew_after_fork()
        loaded = self._loaded
        if loaded is not None:
            return loaded
        with self._lock:
            if self._is_closed:
                raise ValueError("the translator is closed; make a new one")
            if self._loaded is None:
                model, device, weights, progress = self._arguments
                with bar(progress and model is not None, f"fetching {model}", unit="B", unit_scale=True, delay=0.5) as move:
                    self._loaded = _native.Engine(model, device, weights, move)
            return self._loaded

    def _renew_after_fork(self) -> None:
        """Forgets the engine of a parent process."""
        if self._process != os.getpid():
            if self._loaded is not None:
                _of_the_parent.append(self._loaded)
            # another thread of the parent may have held the lock
            self._loaded, self._process, self._lock = None, os.getpid(), threading.Lock()

    def __getstate__(self) -> tuple[Any, ...]:
        return self._arguments, self._options, self._is_closed

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        (model, device, weights, progress), options, closed = state
        self._set_up(model, device, weights, progress, options)
        self._is_closed = closed

    def __enter__(self) -> Translator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees the model. Later calls raise ``ValueError``."""
        self._renew_after_fork()
        with self._lock:
            self._is_closed, self._loaded = True, None

    @property
    def device(self) -> str:
        """The device that was chosen."""
        return self._engine().device

    @property
    def weights(self) -> str:
        """How matrices are stored: ``f32``, ``f16``, ``q8`` or ``w8a8``."""
        return self._engine().weights

    @property
    def languages(self) -> list[str]:
        """Codes for ``source_lang`` and ``target_lang``; empty if the model has one direction."""
        return self._engine().languages

    def __repr__(self) -> str:
        model, device, weights, _ = self._arguments
        if self._is_closed:
            return "<wordloom.Translator, closed>"
        if self._loaded is not None and self._process == os.getpid():
            model, device, weights = self._loaded.label, self._loaded.device, self._loaded.weights
        return f"<wordloom.Translator: {model or 'the model of the package'} on {device}, {weights}>"

    def _call(self, options: dict[str, Any]) -> _Options:
        return _Options(**{**self._options, **_long_names(options)})

    @overload
    def translate(self, text: str, *, progress: bool = ..., **options: Any) -> Translation: ...
    @overload
    def translate(self, text: Iterable[str], *, progress: bool = ..., **options: Any) -> list[Translation]: ...
    def translate(self, text: str | Iterable[str], *, progress: bool = False, **options: Any) -> Any:
        """Translates a text of any length, or many. Line breaks and blank lines stay.

        * ``text``: a string gives a ``Translation``; a list or another iterable gives a list of them
        * ``beams``: 1 to 16; 1 is greedy search. Default: the model's own
        * ``n_best``: number of hypotheses, at most ``beams``
        * ``max_length``: most tokens of a sentence, start token included
        * ``length_penalty``: above 1 favours long translations, below short
        * ``source_lang``, ``target_lang``: codes of ``languages``; ``task``: a name of the model's tasks
        * ``alignments``: whether sentences bring links between words
        * ``document``: True: the whole text is one source, which is not cut into sentences; one that is longer than the model takes
          raises ``TranslateError``. ``"truncate"``: its end is left out, and ``Sentence.left_out_tokens`` counts it
        * ``glossary``: terms whose translation is prescribed: a dict (``{"ticket": "Billett", "cup": ["Tasse", "Tassen"], "Wordloom":
          None}``; None: stays as it is) or the path of a file of ``wordloom translate --glossary``
        * ``glossary_mode``: ``"hard"`` (default: every term is in the translation), ``"soft"`` or ``"soft:WEIGHT"``
        * ``progress``: whether tqdm, if it is installed, shows a bar
        * any other option of transformers' ``generate``: ``no_repeat_ngram_size``, ``do_sample``, ``seed``, …

        Raises ``TranslateError`` (``GenerateError``, ``TextError``), ``GpuError``, ``TypeError`` or ``ValueError``.
        """
        return self._translate(text, options, progress, None)

    def _translate(self, text: Any, options: dict[str, Any], progress: bool, cancel: Any) -> Any:
        one = isinstance(text, str)
        texts = [text] if one else _list(text)
        engine, call = self._engine(), self._call(options)
        with bar(progress, "translating", unit="sentence") as move:
            found = translations(engine.translate(texts, call, cancel, move))
        return found[0] if one else found

    @overload
    def summarize(self, text: str, *, truncate: bool = ..., progress: bool = ..., **options: Any) -> Translation: ...
    @overload
    def summarize(self, text: Iterable[str], *, truncate: bool = ..., progress: bool = ..., **options: Any) -> list[Translation]: ...
    def summarize(
        self, text: str | Iterable[str], *, truncate: bool = False, progress: bool = False, **options: Any
    ) -> Any:
        """Summarizes a document, or many, with a model that summarizes (BART, LED, LongT5, Pegasus, T5, …). Returns what ``translate``
        returns.

        * ``truncate``: whether the end of a document that is longer than the model takes is left out; else it raises
          ``TranslateError``
        * other options are those of ``translate``, over those of the model's task ``summarization``, such as ``min_length`` and
          ``max_length``
        """
        return self.translate(text, progress=progress, document="truncate" if truncate else True, **options)

    @overload
    async def translate_async(self, text: str, *, progress: bool = ..., **options: Any) -> Translation: ...
    @overload
    async def translate_async(self, text: Iterable[str], *, progress: bool = ..., **options: Any) -> list[Translation]: ...
    async def translate_async(self, text: str | Iterable[str], *, progress: bool = False, **options: Any) -> Any:
        """As ``translate``, on a thread of the event loop's executor. Cancelling the task stops the translation."""
        return await _on_a_thread(lambda cancel: self._translate(text, options, progress, cancel))

    def translate_iter(
        self, texts: Iterable[str], *, progress: bool = False, **options: Any
    ) -> Iterator[Translation]:
        """Translates a stream of texts, in order and in bounded memory.

        At most 4,096 texts or a million characters are held, which are searched together. The first windows are smaller, so that
        results come early. A text that cannot be translated, and an exception of ``texts``, are raised after the results of all texts
        before. Messages count texts from 0.
        """
        if isinstance(texts, (str, bytes)):
            raise TypeError("texts is one string; pass an iterable of strings, or call translate")
        texts = _iterable(texts, "texts", "an iterable of strings")
        call, source = self._call(options), iter(texts)
        self._engine().check(call, translates=True)  # wrong options are refused now, not at the first result

        def stream() -> Iterator[Translation]:
            window, done = FIRST_WINDOW, 0
            fault: Exception | None = None
            with bar(progress, "translating", unit="text") as move:
                while fault is None:
                    taken, fault = _window(source, window)
                    if not taken:
                        break
                    yield from self._until_a_fault(taken, call, done)
                    window, done = min(2 * window, WINDOW_TEXTS), done + len(taken)
                    if move is not None:
                        move(done, None)
            if fault is not None:
                raise fault

        return stream()

    def _until_a_fault(self, texts: list[str], call: _Options, first: int) -> Iterator[Translation]:
        """Translations of a window whose first text has the number ``first``. If one fails, those before it come first."""
        try:
            found = self._engine().translate(texts, call, None, None, first)
        except (_native.TranslateError, TypeError, ValueError):
            if len(texts) == 1:
                raise
            found = None
        if found is not None:
            yield from map(translation, found)
            return
        half = len(texts) // 2
        yield from self._until_a_fault(texts[:half], call, first)
        yield from self._until_a_fault(texts[half:], call, first + half)

    def translate_arrow(
        self,
        data: Any,
        *,
        column: str | None = None,
        output: str = "translation",
        progress: bool = False,
        **options: Any,
    ) -> Any:
        """Translates Arrow data of any library, without a copy of its text.

        * an array or a series of strings gives a column of the same type; nulls stay nulls
        * a record batch, a table or a frame gives its columns, and the translation of ``column`` as ``output``

        The result has ``__arrow_c_array__`` or ``__arrow_c_stream__``: ``pyarrow.array(result)``, ``pyarrow.record_batch(result)``,
        ``pyarrow.table(result)``, ``polars.Series(result)`` and ``polars.DataFrame(result)`` take it without a copy.
        """
        if not isinstance(output, str):
            raise TypeError(f"output is {type(output).__name__}; pass a str")
        engine, call = self._engine(), self._call(options)
        with bar(progress, "translating", unit="sentence") as move:
            return engine.translate_arrow(data, _text(column, "column"), output, call, None, move)

    def generate(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        *,
        decoder_input_ids: Any = None,
        global_attention_mask: Any = None,
        return_dict_in_generate: bool = False,
        **options: Any,
    ) -> Any:
        """Searches from token ids, with the names and defaults of transformers' ``generate``.

        * ``input_ids``: ``[batch, length]``: lists (also of different lengths), NumPy arrays or tensors
        * ``attention_mask``: 1 for tokens, 0 for padding
        * ``decoder_input_ids``: the beginning of each output, ``[batch, length]``, perhaps without the start token
        * ``global_attention_mask``: 1 for tokens that see all and are seen by all (LED); without it, none are
        * other options: those of a search, over those of ``Translator(…)``; ``None`` switches an option off

        Returns the sequences ``[batch * num_return_sequences, length]``, padded, or ``Generated`` with their scores.
        """
        engine = self._engine()
        defaults = {name: value for name, value in self._options.items() if name not in _OF_TEXT}
        options = {**defaults, **_renamed(options)}
        inputs, paddings = _unpadded(rows(input_ids, "input_ids"), attention_mask, engine.is_decoder)
        beginnings = _beginnings(decoder_input_ids, len(inputs), engine, options.get("decoder_start_token_id"))
        globals_ = _globals(inputs, global_attention_mask)
        found = engine.generate(list(zip(inputs, beginnings, paddings, globals_)), _json(options))
        given = options.get("pad_token_id")
        padding = engine.pad_token_id if given is None else given
        best = [
            ([padding] * before + tokens, score)
            for hypotheses, before in zip(found, paddings)
            for tokens, score, _ in hypotheses
        ]
        sequences = padded([tokens for tokens, _ in best], padding)
        if not return_dict_in_generate:
            return sequences
        return Generated(sequences, floats([score for _, score in best]))

    @overload
    def score(  # type: ignore[overload-overlap]
        self, source: str, target: str, *, source_lang: str | None = ..., target_lang: str | None = ...
    ) -> Score: ...
    @overload
    def score(
        self, source: Sequence[str], target: Sequence[str], *, source_lang: str | None = ..., target_lang: str | None = ...
    ) -> list[Score]: ...
    def score(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
    ) -> Any:
        """Scores given translations: a ``Score`` for two strings, a list of them for two lists of the same length."""
        one = isinstance(source, str) and isinstance(target, str)
        if not one and (isinstance(source, str) or isinstance(target, str)):
            kinds = f"source is {type(source).__name__}, but target is {type(target).__name__}"
            raise TypeError(f"{kinds}; pass two strings, or two lists of the same length")
        sources, targets = ([source], [target]) if one else (_list(source, "source"), _list(target, "target"))
        if len(sources) != len(targets):
            raise ValueError(f"there are {len(sources)} sources, but {len(targets)} targets; each needs one")
        languages = [
            _text(given if given is not None else self._options.get(name), name)
            for name, given in (("source_lang", source_lang), ("target_lang", target_lang))
        ]
        found = [Score(values) for values in self._engine().score(sources, targets, *languages)]
        return found[0] if one else found

    def forward(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        decoder_input_ids: Any = None,
        *,
        token_type_ids: Any = None,
        global_attention_mask: Any = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> dict[str, Any]:
        """Runs the model on given tokens. Returns float32 arrays by their names in transformers: ``logits``,
        ``encoder_last_hidden_state``, and if asked for lists ``encoder_hidden_states``, ``decoder_hidden_states``,
        ``encoder_attentions``, ``decoder_attentions``, ``cross_attentions``.
        """
        inputs = {
            name: _mask(value) if name == "attention_mask" else rows(value, name)
            for name, value in (
                ("input_ids", input_ids),
                ("attention_mask", attention_mask),
                ("decoder_input_ids", decoder_input_ids),
                ("token_type_ids", token_type_ids),
                ("global_attention_mask", global_attention_mask),
            )
            if value is not None
        }
        found = self._engine().forward(inputs, bool(output_hidden_states), bool(output_attentions))

        def arrays(value: Any) -> Any:
            return [array(data, shape) for shape, data in value] if isinstance(value, list) else array(value[1], value[0])

        return {name: arrays(value) for name, value in found.items()}

    def attention(
        self, text: str, target: str | None = None, *, memory: int = 256 << 20, **options: Any
    ) -> Attention:
        """Translates a text, or takes ``target`` as its translation, and returns the attention of every head.

        * ``memory``: most bytes for attention; layers beyond it are left out, and ``layers`` of a sentence tells which ones are there
        """
        try:
            memory = operator.index(memory)
        except TypeError:
            raise TypeError(f"memory is {type(memory).__name__}; pass a whole number of bytes") from None
        if memory < 0:
            raise ValueError(f"memory is {memory}; pass a number of bytes from 0")
        return Attention(self._engine().attention(text, target, self._call(options), min(memory, 2**64 - 1)))

    @overload
    def align(self, text: str, **options: Any) -> Translation: ...
    @overload
    def align(self, text: Iterable[str], **options: Any) -> list[Translation]: ...
    def align(self, text: str | Iterable[str], **options: Any) -> Any:
        """Translates as ``translate``, and adds which word of each sentence was translated to which: ``Sentence.alignment``."""
        return self.translate(text, alignments=True, **options)


def _list(texts: Any, name: str = "text", wanted: str = "a str, or an iterable of them") -> list[Any]:
    return list(_iterable(texts, name, wanted))


def _iterable(texts: Any, name: str, wanted: str) -> Any:
    """Refuses what is no iterable of texts: one string, bytes, and dicts and tables, which would give their names."""
    kind = type(texts).__name__
    if isinstance(texts, Mapping):
        raise TypeError(f"{name} is {kind}, which would give its keys; pass its values")
    if hasattr(texts, "columns"):
        raise TypeError(f"{name} is {kind}; pass one of its columns")
    if hasattr(texts, "to_pylist"):  # arrays of pyarrow, whose items are no str
        return texts.to_pylist()
    if isinstance(texts, (str, bytes, bytearray, memoryview)) or not hasattr(texts, "__iter__"):
        raise TypeError(f"{name} is {kind}; pass {wanted}")
    return texts


def _window(source: Iterator[str], most: int) -> tuple[list[str], Exception | None]:
    """The next texts, and the exception that ended them."""
    taken: list[str] = []
    characters = 0
    try:
        for text in itertools.islice(source, most):
            taken.append(text)
            characters += len(text) if isinstance(text, str) else 0
            if characters >= WINDOW_CHARACTERS:
                break
    except Exception as fault:
        return taken, fault
    return taken, None


def _mask(values: Any) -> list[list[Any]]:
    """The rows of an attention mask. Numbers may be floats, as in transformers."""
    return [[int(value) if value in (0, 1) else value for value in row] for row in rows(values, "attention_mask")]


def _unpadded(inputs: list[list[int]], mask: Any, is_decoder: bool) -> tuple[list[list[int]], list[int]]:
    """The tokens that a mask shows, and for each row the number of hidden ones before them."""
    if mask is None:
        return inputs, [0] * len(inputs)
    masks = _mask(mask)
    if [len(row) for row in masks] != [len(row) for row in inputs]:
        raise ValueError("attention_mask has another shape than input_ids")
    kept, paddings = [], []
    for row, mask_row in zip(inputs, masks):
        if any(value not in (0, 1) for value in mask_row):
            raise ValueError("attention_mask holds other values than 1 (a token) and 0 (padding)")
        count = sum(mask_row)
        first = len(row) - count if is_decoder else 0
        if sum(mask_row[first : first + count]) != count:
            side = "beginning" if is_decoder else "end"
            raise ValueError(f"attention_mask has a 0 where this model can have no padding, which is at the {side} only")
        kept.append(row[first : first + count])
        paddings.append(first)
    return kept, paddings


def _beginnings(decoder_input_ids: Any, count: int, engine: _native.Engine, start: int | None) -> list[list[int]]:
    """The tokens with which each output begins, without the start token."""
    if decoder_input_ids is None:
        return [[] for _ in range(count)]
    if engine.is_decoder:
        raise ValueError("decoder_input_ids is given, but this model is a decoder alone; input_ids are the beginning of its output")
    found = rows(decoder_input_ids, "decoder_input_ids")
    if len(found) != count:
        raise ValueError(f"input_ids have {count} rows, but decoder_input_ids {len(found)}")
    start = engine.start_token_id if start is None else start
    return [row[1:] if row and row[0] == start else row for row in found]


def _globals(inputs: list[list[int]], mask: Any) -> list[list[int]]:
    """The places of the tokens of each row that a mask makes global; padding is at the end of the rows of such models."""
    if mask is None:
        return [[] for _ in inputs]
    masks = rows(mask, "global_attention_mask")
    if len(masks) != len(inputs) or any(len(mask) < len(row) for mask, row in zip(masks, inputs)):
        raise ValueError("global_attention_mask has another shape than input_ids")
    if any(value not in (0, 1) for row in masks for value in row):
        raise ValueError("global_attention_mask holds other values than 1 (a token that sees all) and 0")
    return [[place for place, value in enumerate(mask[: len(row)]) if value] for mask, row in zip(masks, inputs)]


async def _on_a_thread(work: Any) -> Any:
    cancel = _native.Cancel()
    running = asyncio.get_running_loop().run_in_executor(None, work, cancel)
    # after a cancellation its exception was asked for; asyncio would print it
    running.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait([running])
    except asyncio.CancelledError:
        cancel.cancel()
        await asyncio.wait([running])  # a second cancellation does not wait
        raise
    return running.result()


_default: Translator | None = None
_default_lock = threading.Lock()


def _default_translator() -> Translator:
    global _default
    with _default_lock:
        if _default is None:
            _default = Translator()
        return _default


def _renew_lock() -> None:
    global _default_lock
    _default_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@overload
def translate(text: str, **options: Any) -> Translation: ...
@overload
def translate(text: Iterable[str], **options: Any) -> list[Translation]: ...
def translate(text: str | Iterable[str], **options: Any) -> Any:
    """Translates from English to German with the model of this package, which is loaded once. See ``Translator.translate``."""
    return _default_translator().translate(text, **options)


@overload
def align(text: str, **options: Any) -> Translation: ...
@overload
def align(text: Iterable[str], **options: Any) -> list[Translation]: ...
def align(text: str | Iterable[str], **options: Any) -> Any:
    """As ``translate``, with links between words. See ``Translator.align``."""
    return _default_translator().align(text, **options)


def evaluate(
    hypotheses: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]], metric: str = "bleu"
) -> dict[str, float]:
    """Scores lines as sacreBLEU does: ``metric`` is ``"bleu"`` or ``"chrf"`` (0 to 100); or ``"rouge"``, F-scores from 0 to 1 as
    rouge-score computes them without a stemmer.

    * ``references``: a line for each hypothesis, or several such lists

    Raises ``EvaluateError``.
    """
    if not isinstance(metric, str):
        raise TypeError(f'metric is {type(metric).__name__}; pass "bleu", "chrf" or "rouge"')
    references = _list(references, "references", "a list of strings, or of such lists")
    if references and isinstance(references[0], str):
        references = [references]
    sets = [_list(lines, f"references[{index}]", "a list of strings") for index, lines in enumerate(references)]
    return dict(_native.evaluate(_list(hypotheses, "hypotheses", "a list of strings"), sets, metric))
