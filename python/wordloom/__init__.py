"""Wordloom runs encoder-decoder Transformers on any GPU, and on the CPU.

>>> import wordloom
>>> print(wordloom.translate("Where is the train station?"))
Wo ist der Bahnhof?

``translate`` uses the small English-German model of this package. ``Translator`` opens any other: a folder, a name of the
Hugging Face hub, or ``firefox:en-fr``. ``wordloom.ctranslate2`` and ``wordloom.pipeline`` have the interfaces of CTranslate2
and of transformers.
"""

import importlib
from typing import Any

from ._attention import Attention, SentenceAttention
from ._check import DeviceCheck, check
from ._native import (
    ArrowArray,
    ArrowError,
    ArrowTable,
    Cancelled,
    EvaluateError,
    ForwardError,
    GenerateError,
    GpuError,
    HubError,
    ModelError,
    ScoreError,
    TextError,
    TraceError,
    TrainError,
    TranslateError,
    WordloomError,
    __version__,
    licences,
)
from ._pipeline import pipeline
from ._results import (
    Generated,
    Hypothesis,
    Score,
    Sentence,
    SentenceHypothesis,
    Training,
    TrainingStep,
    TrainingTest,
    Translation,
)
from ._train import train
from ._translator import Translator, align, evaluate, translate

__all__ = [
    "ArrowArray",
    "ArrowError",
    "ArrowTable",
    "Attention",
    "Cancelled",
    "DeviceCheck",
    "EvaluateError",
    "ForwardError",
    "GenerateError",
    "Generated",
    "GpuError",
    "HubError",
    "Hypothesis",
    "ModelError",
    "Score",
    "ScoreError",
    "Sentence",
    "SentenceAttention",
    "SentenceHypothesis",
    "TextError",
    "TraceError",
    "TrainError",
    "Training",
    "TrainingStep",
    "TrainingTest",
    "TranslateError",
    "Translation",
    "Translator",
    "WordloomError",
    "__version__",
    "align",
    "check",
    "evaluate",
    "licences",
    "pipeline",
    "train",
    "translate",
]

#: Modules that are imported at their first use: ``wordloom.ctranslate2``.
_MODULES = ("corpora", "ctranslate2")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
