"""A pipeline with the interface of transformers' for translation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from ._translator import Translator


class TranslationPipeline:
    """What ``pipeline("translation", …)`` returns. Call it with a string, a list, or a generator."""

    def __init__(self, translator: Translator, task: str, options: dict[str, Any]) -> None:
        self.translator, self.task, self._options = translator, task, options

    def __call__(self, inputs: Any, **options: Any) -> Any:
        """Translates. A string or a list gives a list of ``{"translation_text": …}``; with several sequences for each text, a list
        of such lists. A generator gives a generator.

        ``src_lang``, ``tgt_lang`` and all options of ``generate`` are taken; ``batch_size`` and ``truncation`` have no effect:
        batches are made by length, and nothing is cut off.
        """
        options = {**self._options, **options}
        for name in ("batch_size", "truncation", "clean_up_tokenization_spaces"):
            options.pop(name, None)
        if options.pop("return_tensors", False):
            raise ValueError("return_tensors is not supported; Translator.generate returns token ids")
        for theirs, ours in (("src_lang", "source_lang"), ("tgt_lang", "target_lang")):
            if theirs in options:
                options[ours] = options.pop(theirs)
        if isinstance(inputs, str):
            return _answer(self.translator.translate(inputs, **options))
        if isinstance(inputs, Iterator):
            return (_one(_answer(found)) for found in self.translator.translate_iter(inputs, **options))
        return [_one(_answer(found)) for found in self.translator.translate(inputs, **options)]


def _answer(translation: Any) -> list[dict[str, str]]:
    return [{"translation_text": hypothesis.text} for hypothesis in translation.hypotheses]


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

    * ``task``: ``"translation"``, or ``"translation_XX_to_YY"``
    * ``model``: as in ``Translator``
    * ``device``: as in ``Translator``; also transformers' ``-1`` and ``"cuda"``
    * other options are defaults for every call

    Raises ``ValueError`` for other tasks.
    """
    languages = str(task).removeprefix("translation")
    named = languages.removeprefix("_").split("_to_")
    if not str(task).startswith("translation") or (languages and (len(named) != 2 or not all(named))):
        raise ValueError(f'task is {task!r}; Wordloom has "translation" and "translation_XX_to_YY"')
    if isinstance(device, int):
        device = "cpu" if device < 0 else "gpu"
    device = {None: "auto", "cuda": "gpu", "mps": "gpu"}.get(device, device)
    translator = Translator(model, device, weights)
    if languages:
        if translator.languages:
            for name, code in (("src_lang", named[0]), ("tgt_lang", named[1])):
                if code in translator.languages:
                    options.setdefault(name, code)
    return TranslationPipeline(translator, task, options)
