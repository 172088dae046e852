"""Pipelines with the interface of transformers' for translation and summarization."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from ._translator import Translator


class TranslationPipeline:
    """What ``pipeline("translation", …)`` returns. Call it with a string, a list, or a generator."""

    _key = "translation_text"

    def __init__(self, translator: Translator, task: str, options: dict[str, Any]) -> None:
        self.translator, self.task, self._options = translator, task, options

    def __call__(self, inputs: Any, **options: Any) -> Any:
        """Translates. A string or a list gives a list of ``{"translation_text": …}``; with several sequences for each text, a list
        of such lists. A generator gives a generator.

        ``src_lang``, ``tgt_lang`` and all options of ``generate`` are taken; ``batch_size`` and ``truncation`` have no effect:
        batches are made by length, and nothing is cut off.
        """
        options = self._ours({**self._options, **options})
        for name in ("batch_size", "truncation", "clean_up_tokenization_spaces"):
            options.pop(name, None)
        if options.pop("return_tensors", False):
            raise ValueError("return_tensors is not supported; Translator.generate returns token ids")
        for theirs, ours in (("src_lang", "source_lang"), ("tgt_lang", "target_lang")):
            if theirs in options:
                options[ours] = options.pop(theirs)
        if isinstance(inputs, str):
            return self._answer(self.translator.translate(inputs, **options))
        if isinstance(inputs, Iterator):
            return (_one(self._answer(found)) for found in self.translator.translate_iter(inputs, **options))
        return [_one(self._answer(found)) for found in self.translator.translate(inputs, **options)]

    def _ours(self, options: dict[str, Any]) -> dict[str, Any]:
        return options

    def _answer(self, translation: Any) -> list[dict[str, str]]:
        return [{self._key: hypothesis.text} for hypothesis in translation.hypotheses]


class SummarizationPipeline(TranslationPipeline):
    """What ``pipeline("summarization", …)`` returns: each text is a document. Answers are ``{"summary_text": …}``. A document that is
    longer than the model takes raises ``TranslateError``, unless ``truncation`` is given: then its end is left out."""

    _key = "summary_text"

    def _ours(self, options: dict[str, Any]) -> dict[str, Any]:
        truncated = options.get("truncation") not in (None, False, "do_not_truncate")
        return {**options, "document": "truncate" if truncated else True}


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
    * ``model``: as in ``Translator``
    * ``device``: as in ``Translator``; also transformers' ``-1`` and ``"cuda"``
    * other options are defaults for every call

    Raises ``ValueError`` for other tasks.
    """
    summarizes = task == "summarization"
    languages = "" if summarizes else str(task).removeprefix("translation")
    named = languages.removeprefix("_").split("_to_")
    if not summarizes and (not str(task).startswith("translation") or (languages and (len(named) != 2 or not all(named)))):
        raise ValueError(f'task is {task!r}; Wordloom has "translation", "translation_XX_to_YY" and "summarization"')
    if summarizes and model is None:
        raise ValueError("summarization needs a model, such as facebook/bart-large-cnn: the model of this package translates")
    if isinstance(device, int):
        device = "cpu" if device < 0 else "gpu"
    device = {None: "auto", "cuda": "gpu", "mps": "gpu"}.get(device, device)
    translator = Translator(model, device, weights)
    if languages:
        if translator.languages:
            for name, code in (("src_lang", named[0]), ("tgt_lang", named[1])):
                if code in translator.languages:
                    options.setdefault(name, code)
    return (SummarizationPipeline if summarizes else TranslationPipeline)(translator, task, options)
