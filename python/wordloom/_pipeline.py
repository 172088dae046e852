"""Pipelines with the interface of transformers' for translation and summarization."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator
from typing import Any

from ._translator import Translator


#: Options of transformers that change no result here.
_WITHOUT_EFFECT = (
    "batch_size", "clean_up_tokenization_spaces", "framework", "num_workers", "truncation", "trust_remote_code", "use_fast",
)  # fmt: skip
#: Options of transformers that Wordloom has not, unless they are empty; and the way out.
_MISSING = {
    "config": "the model's own is read",
    "feature_extractor": "text has none",
    "image_processor": "text has none",
    "model_kwargs": "weights= and the options of a search stand for them",
    "pipeline_class": "the task chooses it",
    "processor": "text has none",
    "return_tensors": "Translator.generate returns token ids",
    "token": "the variable HF_TOKEN has it",
    "tokenizer": "the model's own is read",
}
#: Weights for torch's types.
_WEIGHTS = {"auto": "auto", "float32": "f32", "float16": "f16", "bfloat16": "f32"}


class TranslationPipeline:
    """What ``pipeline("translation", …)`` returns. Call it with a string, a list, or a generator."""

    _key = "translation_text"

    def __init__(self, translator: Translator, task: str, options: dict[str, Any]) -> None:
        self.translator, self.task, self._options = translator, task, options
        # wrong options are refused at once, and not by the first call
        translator._engine().check(translator._call(self._ours({})))

    def __repr__(self) -> str:
        return f"<wordloom.{type(self).__name__}, {self.task}: {self.translator!r}>"

    def __call__(self, inputs: Any, **options: Any) -> Any:
        """Translates. A string or a list gives a list of ``{"translation_text": …}``; with several sequences for each text, a list
        of such lists. A generator gives a generator of a list for each text.

        ``src_lang``, ``tgt_lang`` and all options of ``generate`` are taken; ``batch_size``, ``num_workers`` and ``truncation`` have
        no effect: batches are made by length, and nothing is cut off.
        """
        options = self._ours(options)
        if isinstance(inputs, str):
            return self._answer(self.translator.translate(inputs, **options))
        if isinstance(inputs, Iterator):
            return (self._answer(found) for found in self.translator.translate_iter(inputs, **options))
        return [_one(self._answer(found)) for found in self.translator.translate(inputs, **options)]

    def _ours(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options of ``translate`` for those of a call, over those of the pipeline."""
        options = {**self._options, **options}
        options |= options.pop("generate_kwargs", None) or {}
        for name, way_out in _MISSING.items():
            if options.pop(name, None):
                raise ValueError(f"{name} is not supported: {way_out}; leave it out")
        if not options.pop("return_text", True):
            raise ValueError("return_text is False; a pipeline returns text, and Translator.generate token ids")
        for name in _WITHOUT_EFFECT:
            options.pop(name, None)
        for theirs, ours in (("src_lang", "source_lang"), ("tgt_lang", "target_lang")):
            if options.get(theirs) is not None:
                options[ours] = options[theirs]
            options.pop(theirs, None)
        return options

    def _answer(self, translation: Any) -> list[dict[str, str]]:
        return [{self._key: hypothesis.text} for hypothesis in translation.hypotheses]


class SummarizationPipeline(TranslationPipeline):
    """What ``pipeline("summarization", …)`` returns: each text is a document. Answers are ``{"summary_text": …}``. A document that is
    longer than the model takes raises ``TranslateError``, unless ``truncation`` is given: then its end is left out."""

    _key = "summary_text"

    def _ours(self, options: dict[str, Any]) -> dict[str, Any]:
        truncation = {**self._options, **options}.get("truncation")
        truncated = truncation not in (None, False, "do_not_truncate")
        return {**super()._ours(options), "document": "truncate" if truncated else True}


def _one(answer: list[dict[str, str]]) -> Any:
    return answer[0] if len(answer) == 1 else answer


def pipeline(
    task: str = "translation",
    model: str | os.PathLike[str] | None = None,
    *,
    device: str | int | None = None,
    weights: str = "auto",
    **options: Any,
) -> TranslationPipeline:
    """Makes a pipeline as ``transformers.pipeline`` does.

    * ``task``: ``"translation"``, ``"translation_XX_to_YY"``, or ``"summarization"``, which needs a ``model``
    * ``model``: as in ``Translator``; ``revision``: that of a name of the hub
    * ``device``: as in ``Translator``; also transformers' ``-1``, ``0``, ``"cuda"`` and ``device_map="auto"``
    * ``torch_dtype``, ``dtype``: torch's type or its name stands for ``weights``
    * other options are defaults for every call

    Raises ``ValueError`` for other tasks, and ``TextError`` for languages that the model does not have.
    """
    summarizes = task == "summarization"
    languages = "" if summarizes else str(task).removeprefix("translation")
    named = languages.removeprefix("_").split("_to_")
    if not summarizes and (not str(task).startswith("translation") or (languages and (len(named) != 2 or not all(named)))):
        raise ValueError(f'task is {task!r}; Wordloom has "translation", "translation_XX_to_YY" and "summarization"')
    if summarizes and model is None:
        raise ValueError("summarization needs a model, such as facebook/bart-large-cnn: the model of this package translates")
    device = _device(device, options.pop("device_map", None))
    weights = _weights(weights, options)
    translator = Translator(_revised(model, options.pop("revision", None)), device, weights)
    if languages:
        asked = [options.get(name) or code for name, code in zip(("src_lang", "tgt_lang"), named)]
        options["src_lang"], options["tgt_lang"] = translator._engine().direction(*asked)
    return (SummarizationPipeline if summarizes else TranslationPipeline)(translator, task, options)


def _device(device: Any, device_map: Any) -> str:
    """Wordloom's device for transformers'."""
    if device_map not in (None, "auto"):
        raise ValueError(f'device_map is {device_map!r}; pass "auto", or the device as device=')
    if device is None:
        return "auto"
    if hasattr(device, "__index__"):
        number = operator.index(device)
        if number > 0:
            raise ValueError(f"device is {number}; name the adapter as device=, as `wordloom devices` lists them")
        return "cpu" if number < 0 else "gpu"
    if not isinstance(device, str) and hasattr(device, "type") and hasattr(device, "index"):  # torch's
        device = str(device)
    return {"cuda": "gpu", "cuda:0": "gpu", "mps": "gpu", "mps:0": "gpu"}.get(device, device) if isinstance(device, str) else device


def _weights(weights: str, options: dict[str, Any]) -> str:
    """Takes torch's type from the options."""
    for name in ("torch_dtype", "dtype"):
        given = options.pop(name, None)
        if given is None:
            continue
        if weights != "auto":
            raise ValueError(f"weights and {name} are both given; give one")
        kind = str(given).removeprefix("torch.")
        if kind not in _WEIGHTS:
            raise ValueError(f"{name} is {given}; it must be one of {', '.join(_WEIGHTS)}")
        weights = _WEIGHTS[kind]
    return weights


def _revised(model: Any, revision: Any) -> Any:
    """The name of a model with its revision. A folder has none, as in transformers."""
    if revision is None or (model is not None and os.path.exists(model)):
        return model
    if not isinstance(revision, str):
        raise TypeError(f"revision is {type(revision).__name__}; pass a str")
    if model is None or "@" in str(model) or ":" in str(model):
        raise ValueError(f"revision is {revision!r}; it belongs to a model of the hub without one, such as OWNER/NAME")
    return f"{os.fspath(model)}@{revision}"
