"""A stand-in for ``ctranslate2``: ``import wordloom.ctranslate2 as ctranslate2``.

``Translator`` opens folders of Hugging Face and names of the hub, not CTranslate2's converted ones. Tokens go in and out, and
options have CTranslate2's names and defaults. An option that Wordloom has not, or has in another form, raises ``ValueError`` unless
it is at its default.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ._native import TextError
from ._translator import Translator as _Translator
from ._translator import _json

#: Weights for CTranslate2's names of types.
_WEIGHTS = {
    "default": "auto", "auto": "auto", "float32": "f32", "float16": "f16", "bfloat16": "f32",
    "int8": "q8", "int8_float32": "q8", "int8_float16": "q8", "int8_bfloat16": "q8",
}  # fmt: skip
#: Defaults of arguments that change no result here: how batches are made.
_BATCHES = {"max_batch_size": 0, "batch_type": "examples", "use_vmap": False, "max_input_length": 1024}
#: Arguments that Wordloom has not, with CTranslate2's defaults.
_MISSING = {
    "patience": 1, "coverage_penalty": 0, "disable_unk": False, "end_token": None, "prefix_bias_beta": 0,
    "return_logits_vocab": False, "return_attention": False, "return_alternatives": False,
    "min_alternative_expansion_prob": 0, "replace_unknowns": False, "callback": None, "asynchronous": False,
}  # fmt: skip


#: Beams of a search at most.
MOST_BEAMS = 16


@dataclass
class TranslationResult:
    """Hypotheses of one source, best first."""

    hypotheses: list[list[str]]
    scores: list[float] = field(default_factory=list)
    attention: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, index: int) -> dict[str, Any]:
        result: dict[str, Any] = {"tokens": self.hypotheses[index]}
        if self.scores:
            result["score"] = self.scores[index]
        return result


@dataclass
class ScoringResult:
    """Tokens of a target, and the logarithm of each one's probability; the end token is the last."""

    tokens: list[str]
    log_probs: list[float]


class Translator:
    """A model on a device, with the interface of ``ctranslate2.Translator``.

    * ``device``: ``"cpu"``, ``"cuda"`` or ``"auto"``, or any of Wordloom's
    * ``compute_type``: a name, or a dict of one for each device; ``int8`` is ``w8a8`` on ``"cpu"``, which rounds inputs to 8 bits as CTranslate2 does, and ``q8`` on other
      devices; ``float16`` is ``f16``, ``float32`` is ``f32``
    * ``inter_threads``, ``intra_threads`` and other arguments of threads have no effect: ``RAYON_NUM_THREADS`` limits the threads
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        device: str = "cpu",
        *,
        compute_type: str | dict[str, str] = "default",
        device_index: int | list[int] = 0,
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: int = 0,
        flash_attention: bool = False,
        tensor_parallel: bool = False,
        files: Any = None,
    ) -> None:
        wanted = list(compute_type.values()) if isinstance(compute_type, dict) else [compute_type]
        for name in wanted:
            if name not in _WEIGHTS:
                raise ValueError(f"compute_type is {name!r}; it must be one of {', '.join(_WEIGHTS)}")
        if isinstance(compute_type, dict):
            compute_type = compute_type.get(device, "default")
        for name, value in (("files", files), ("flash_attention", flash_attention), ("tensor_parallel", tensor_parallel)):
            if value:
                raise ValueError(f"{name} is not supported by Wordloom; leave it out")
        if device_index not in (0, [0]):
            raise ValueError("device_index is not supported by Wordloom; name the adapter as device=")
        del inter_threads, intra_threads, max_queued_batches
        if model_path is not None and os.path.exists(os.path.join(model_path, "model.bin")):
            raise ValueError(
                f"{os.fspath(model_path)} is a model that CTranslate2 converted; pass the folder or the name that it was converted from"
            )
        weights = _WEIGHTS[compute_type]
        if weights == "q8" and device == "cpu":
            weights = "w8a8"
        self._translator = _Translator(model_path, {"cuda": "gpu"}.get(device, device), weights)
        engine = self._translator._engine()
        self._source = {piece: index for index, piece in reversed(list(enumerate(engine.pieces(False))))}
        self._target_pieces = engine.pieces(True)
        self._target = {piece: index for index, piece in reversed(list(enumerate(self._target_pieces)))}
        self._end = "</s>" if "</s>" in self._target else None

    @property
    def device(self) -> str:
        """``"cpu"``, or ``"cuda"`` for a GPU."""
        return "cpu" if self._translator.device == "CPU" else "cuda"

    @property
    def compute_type(self) -> str:
        """How weights are stored, in CTranslate2's words."""
        return {"f32": "float32", "f16": "float16", "q8": "int8", "w8a8": "int8"}.get(self._translator.weights, self._translator.weights)

    def translate_batch(
        self,
        source: list[list[str]],
        target_prefix: list[list[str] | None] | None = None,
        *,
        beam_size: int = 2,
        num_hypotheses: int = 1,
        length_penalty: float = 1,
        repetition_penalty: float = 1,
        no_repeat_ngram_size: int = 0,
        suppress_sequences: list[list[str]] | None = None,
        return_end_token: bool = False,
        max_decoding_length: int = 256,
        min_decoding_length: int = 1,
        return_scores: bool = False,
        sampling_topk: int = 1,
        sampling_topp: float = 1,
        sampling_temperature: float = 1,
        **others: Any,
    ) -> list[TranslationResult]:
        """Translates batches of tokens. Arguments are CTranslate2's; those that Wordloom has not raise ``ValueError``."""
        _check(others)
        _check_search(beam_size, num_hypotheses, (min_decoding_length, max_decoding_length), sampling_topk != 1)
        inputs = [_ids(tokens, self._source, f"source {row}") for row, tokens in enumerate(source)]
        prefixes = self._prefixes(target_prefix, len(inputs))
        suppressed = [_ids(words, self._target, "suppress_sequences") for words in suppress_sequences or []]
        sampled = sampling_topk != 1
        options: dict[str, Any] = {
            "num_beams": beam_size,
            "num_return_sequences": num_hypotheses,
            "length_penalty": length_penalty,
            "repetition_penalty": repetition_penalty,
            "no_repeat_ngram_size": no_repeat_ngram_size,
            "max_new_tokens": max_decoding_length,
            "min_new_tokens": min_decoding_length,
            "bad_words_ids": [ids for ids in suppressed if ids] or None,
            "early_stopping": beam_size > 1,
            "renormalize_logits": beam_size > 1 or None,
            "forced_eos_token_id": [],  # CTranslate2 cuts at the maximal length
        }
        if sampled:
            options |= {
                "do_sample": True, "top_k": sampling_topk, "top_p": sampling_topp, "temperature": sampling_temperature,
            }  # fmt: skip
        end = None if self._end is None else self._source.get(self._end)
        filled = [
            index for index, ids in enumerate(inputs)
            if ids and ids != [end] and len(prefixes[index]) < max_decoding_length
        ]  # fmt: skip
        found = self._translator._engine().generate(
            [(inputs[index], prefixes[index], 0, []) for index in filled],
            _json({name: value for name, value in options.items() if value is not None}),
            counts_prefixes=True,
        )
        # without a source, and without a token to search, a translation is its prefix
        results = [
            self._result([([-1, *prefix[:max_decoding_length]], 0.0)] * num_hypotheses, return_scores, return_end_token)
            for prefix in prefixes
        ]
        for index, hypotheses in zip(filled, found):
            is_sum = beam_size == 1  # of a search without beams
            scored = [
                (ids, _score(score, len(steps), len(prefixes[index]), length_penalty, is_sum)) for ids, score, steps in hypotheses
            ]
            scored.sort(key=lambda hypothesis: -hypothesis[1])
            results[index] = self._result(scored, return_scores, return_end_token)
        return results

    def _prefixes(self, given: Any, count: int) -> list[list[int]]:
        given = [] if given is None else list(given)
        if not given:
            return [[] for _ in range(count)]
        if len(given) != count:
            raise ValueError(f"target_prefix has {len(given)} rows, but source {count}")
        return [_ids(tokens or [], self._target, f"target_prefix {row}") for row, tokens in enumerate(given)]

    def _result(self, hypotheses: list[tuple[list[int], float]], scores: bool, end: bool) -> TranslationResult:
        def tokens(ids: list[int]) -> list[str]:
            pieces = [self._target_pieces[index] for index in ids[1:]]  # without the start token
            return pieces[:-1] if pieces and pieces[-1] == self._end and not end else pieces

        return TranslationResult([tokens(ids) for ids, _ in hypotheses], [score for _, score in hypotheses] if scores else [])

    def translate_iterable(
        self,
        source: Iterable[list[str]],
        target_prefix: Iterable[list[str] | None] | None = None,
        max_batch_size: int = 32,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[TranslationResult]:
        """Translates a stream, in order and in bounded memory."""
        if max_batch_size < 1:
            raise ValueError(f"max_batch_size is {max_batch_size}, but max_batch_size must be >= 1")
        self.translate_batch([], batch_type=batch_type, **options)  # wrong options are refused now, not at the first result
        return self._stream(source, target_prefix, max_batch_size, options)

    def _stream(
        self, source: Iterable[Any], target_prefix: Iterable[Any] | None, max_batch_size: int, options: dict[str, Any]
    ) -> Iterator[TranslationResult]:
        pairs = zip(source, itertools.repeat(None)) if target_prefix is None else _pairs(source, target_prefix)
        while batch := list(itertools.islice(pairs, 16 * max_batch_size)):
            tokens, prefixes = zip(*batch)
            yield from self.translate_batch(list(tokens), list(prefixes), **options)

    def score_batch(
        self, source: list[list[str]], target: list[list[str]], *, offset: int = 0, **others: Any
    ) -> list[ScoringResult]:
        """Scores given targets, without start and end tokens; the end token is added and scored."""
        _check(others)
        if offset:
            raise ValueError("offset is not supported by Wordloom; cut the result")
        source, target = list(source), list(target)
        if len(source) != len(target):
            raise ValueError(f"there are {len(source)} sources, but {len(target)} targets")
        inputs = [_ids(tokens, self._source, f"source {row}") for row, tokens in enumerate(source)]
        ended = [[*tokens, self._end] if self._end else list(tokens) for tokens in target]
        labels = [_ids(tokens, self._target, f"target {row}") for row, tokens in enumerate(ended)]
        filled = [index for index, ids in enumerate(inputs) if ids]
        scores = self._translator._engine().score_ids([inputs[index] for index in filled], [labels[index] for index in filled])
        results = [ScoringResult(tokens, [0.0] * len(tokens)) for tokens in ended]  # those of an empty source
        for index, values in zip(filled, scores):
            results[index].log_probs = values
        return results

    def unload_model(self, to_cpu: bool = False) -> None:
        """Frees the model."""
        del to_cpu
        self._translator.close()


def _pairs(source: Iterable[Any], target_prefix: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    end = object()
    for tokens, prefix in itertools.zip_longest(source, target_prefix, fillvalue=end):
        if tokens is end or prefix is end:
            which = "source" if tokens is end else "target_prefix"
            raise ValueError(f"{which} ends first; each source needs one prefix, which may be None")
        yield tokens, prefix


def _check(others: dict[str, Any]) -> None:
    for name, value in others.items():
        if name == "batch_type" and value not in ("examples", "tokens"):
            raise ValueError(f'batch_type is {value!r}; it must be "examples" or "tokens"')
        if name in _BATCHES:
            continue
        if name not in _MISSING:
            raise TypeError(f"there is no argument {name!r}")
        if value != _MISSING[name]:
            raise ValueError(f"{name}={value!r} is not supported by Wordloom; leave it out")


def _check_search(beam_size: Any, num_hypotheses: Any, lengths: tuple[Any, Any], sampled: bool) -> None:
    """Refuses sizes of a search under CTranslate2's names."""
    names = ("beam_size", "num_hypotheses", "min_decoding_length", "max_decoding_length")
    for name, value in zip(names, (beam_size, num_hypotheses, *lengths)):
        try:
            operator.index(value)
        except TypeError:
            raise TypeError(f"{name} is {type(value).__name__}; pass a whole number") from None
    if not 1 <= beam_size <= MOST_BEAMS:
        raise ValueError(f"beam_size is {beam_size}; it must be 1 to {MOST_BEAMS}")
    if num_hypotheses < 1:
        raise ValueError(f"num_hypotheses is {num_hypotheses}; it must be at least 1")
    if num_hypotheses > beam_size and not sampled:
        raise ValueError(f"num_hypotheses is {num_hypotheses}; it must be at most beam_size, which is {beam_size}")
    least, most = lengths
    if least < 0:
        raise ValueError(f"min_decoding_length is {least}; it must be at least 0")
    if most < 1:
        raise ValueError(f"max_decoding_length is {most}; it must be at least 1")
    if least > most:
        raise ValueError(f"min_decoding_length is {least}; it must be at most max_decoding_length, which is {most}")


def _score(score: float, found: int, prefix: int, length_penalty: float, is_sum: bool) -> float:
    """CTranslate2's score of a hypothesis: its log-probability divided by its whole length, which counts the prefix.

    * ``score``: Wordloom's, divided by the number of ``found`` tokens, or a sum
    """
    own: float = 1.0 if is_sum else max(found, 1) ** length_penalty
    return float(score * own / max(found + prefix, 1) ** length_penalty)


def _ids(tokens: Any, vocabulary: dict[str, int], name: str) -> list[int]:
    if isinstance(tokens, (str, bytes)) or not hasattr(tokens, "__iter__"):
        raise TypeError(f"{name} is {type(tokens).__name__}; pass a list of tokens")
    ids = []
    for token in tokens:
        if not isinstance(token, str):
            raise TypeError(f"{name} holds {type(token).__name__}; tokens are str")
        index = vocabulary.get(token, vocabulary.get("<unk>"))
        if index is None:
            raise TextError(f"{name}: the vocabulary has no token {token!r}, and none for unknown ones")
        ids.append(index)
    return ids
