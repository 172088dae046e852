"""Training."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from . import _native
from ._progress import bar
from ._results import Training, TrainingStep, TrainingTest

_log = logging.getLogger("wordloom")

#: Arguments that the engine does not read.
_OURS = ("pairs", "dev", "device", "on_step", "on_test", "progress")


def train(
    pairs: Any,
    out: str | os.PathLike[str],
    *,
    dev: Any = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    model: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    vocabulary: int | None = None,
    attention: str | None = None,
    resume: bool = False,
    max_steps: int | None = None,
    max_minutes: float | None = None,
    patience: int = 10,
    batch_tokens: int | None = None,
    accumulate: int | None = None,
    learning_rate: float | None = None,
    warmup: int | None = None,
    cooldown: float = 0.3,
    dropout: float | None = None,
    label_smoothing: float = 0.1,
    weight_decay: float = 0.0,
    max_norm: float = 1.0,
    precision: str = "f32",
    seed: int = 1,
    freeze: Sequence[str] = (),
    train_only: Sequence[str] = (),
    tags: Sequence[str] = (),
    ignore_columns: bool = False,
    swap: bool = False,
    substitute: str | os.PathLike[str] | None = None,
    joined: float = 0.0,
    lower_cased: float = 0.0,
    unpunctuated: float = 0.0,
    goal: str = "loss",
    test_steps: int | None = None,
    bleu_pairs: int = 100,
    save_minutes: float = 5.0,
    keep: int = 3,
    device: str = "auto",
    on_step: Callable[[TrainingStep], Any] | None = None,
    on_test: Callable[[TrainingTest], Any] | None = None,
    progress: bool = True,
) -> Training:
    """Trains a model on sentence pairs, as ``wordloom train`` does: the same options and seed give the same model.

    * ``pairs``: an iterable of ``(source, target)`` strings; or the path of a file of lines ``SOURCE TAB TARGET`` (perhaps gzip), a
      tuple of two ``Path`` objects (a sentence on each line), or a list of such paths
    * ``out``: the folder to write to. It gets the best model so far, ``MODEL_CARD.md``, ``train.jsonl`` and ``checkpoints/``, each
      of which is a model's folder, too
    * ``dev``: pairs to test with, in the same forms; by default one pair in 20 is held back, at most 500
    * ``source_lang``, ``target_lang``: languages, such as ``"en"`` and ``"de"``; codes of ``model`` if it has several
    * ``model``: the model to go on from: a folder, a name of the hub, or ``"built-in"``. Without it, a new one is made
    * ``config``: its shape: ``"tiny"``, ``"small"``, ``"base"``, a dict with keys of transformers' ``MarianConfig``, or the path of a
      ``config.json``; by default the amount of data decides
    * ``vocabulary``: number of tokens of a new vocabulary, also for ``model``
    * ``attention``: layers that learn projections of keys and values: ``"encoder.*=linformer:32"`` (docs/attention.md)
    * ``resume``: whether to go on from the last checkpoint in ``out``, if there is one
    * ``max_steps``, ``max_minutes``, ``patience``: the training ends after so many steps, minutes, or tests in a row without a best
      one (0: never). Without the first two it takes a minute for 500 pairs, 4 to 120
    * ``batch_tokens``, ``accumulate``, ``learning_rate``, ``warmup``, ``dropout``: target tokens of a batch, batches of a step, peak
      rate, steps of its rise, dropped share; by default what suits the model
    * ``cooldown``, ``label_smoothing``, ``weight_decay``, ``max_norm``, ``seed``; ``precision``: ``"f32"``, or ``"bf16"``, which is faster
      on some CPUs
    * ``freeze``, ``train_only``: parts of names of tensors that stay as they are, or that alone are trained
    * ``tags``, ``ignore_columns``, ``swap``: which columns of files are read; ``substitute``, ``joined``, ``lower_cased``,
      ``unpunctuated``: other examples in every epoch
    * ``goal``: ``"loss"`` or ``"bleu"`` decides which model is the best; ``test_steps``, ``bleu_pairs``, ``save_minutes``, ``keep``: steps
      between tests, pairs to translate at each, minutes between checkpoints, number of them
    * ``device``: as for ``Translator``
    * ``on_step``: is called with a ``TrainingStep`` every 10 steps, ``on_test`` with a ``TrainingTest``; the training waits for both
    * ``progress``: whether tqdm, if it is installed, shows a bar

    docs/training.md says more about each. Notes and warnings go to the logger ``wordloom``.

    Ctrl-C, and an exception of ``on_step`` or ``on_test``, write a checkpoint and are raised; ``resume=True`` goes on from there.

    Raises ``TrainError``, ``ModelError``, ``HubError``, ``GpuError``, ``TextError``, ``TypeError`` or ``ValueError``.
    """
    given = dict(locals())  # all arguments, under their names
    for name, function in (("on_step", on_step), ("on_test", on_test)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} is {type(function).__name__}; pass a function")
    if not isinstance(device, str):
        raise TypeError(f"device is {type(device).__name__}; pass a str")
    for name, value in (("pairs", pairs), ("dev", dev)):
        if isinstance(value, Mapping):
            raise TypeError(f"{name} is {type(value).__name__}, which would give its keys; pass its items()")
        if hasattr(value, "columns"):
            raise TypeError(f"{name} is {type(value).__name__}; pass zip(SOURCES, TARGETS) of two of its columns")
    options = {name: value for name, value in given.items() if name not in _OURS}
    if isinstance(config, Mapping):
        options["config"], options["config_keys"] = None, _json(config)
    options["command"] = _call(given)
    with (
        bar(progress and model is not None, f"fetching {model}", unit="B", unit_scale=True, delay=0.5) as fetch,
        bar(progress, "training", unit="step" if max_steps else "‰") as move,
    ):
        listener = _Listener(on_step, on_test, fetch, move, max_steps)
        found = json.loads(_native.train(pairs, dev, options, device, listener))
    bleu, chrf = found.pop("scores") or (None, None)
    return Training(folder=Path(out), bleu=bleu, chrf=chrf, **found)


class _Listener:
    """Gets the events of a training, as JSON."""

    def __init__(self, on_step: Any, on_test: Any, fetch: Any, move: Any, max_steps: int | None) -> None:
        self.on_step, self.on_test, self.fetch, self.move, self.max_steps = on_step, on_test, fetch, move, max_steps
        self.numbers: dict[str, str] = {}

    def __call__(self, news: str) -> None:
        event = json.loads(news)
        kind = event["event"]
        if kind == "line":
            is_warning, line = event["line"].startswith("warning: "), event["line"].removeprefix("warning: ")
            _log.log(logging.WARNING if is_warning else logging.INFO, "%s", line)
        elif kind == "download" and self.fetch is not None:
            self.fetch(event["done"], event["total"])
        elif kind == "steps":
            self._show(event, loss=event["loss"])
            if self.on_step is not None:
                self.on_step(_made(TrainingStep, event))
        elif kind == "test":
            self._show(event, dev_loss=event["loss"])
            if self.on_test is not None:
                self.on_test(_made(TrainingTest, event))

    def _show(self, event: dict[str, Any], **numbers: float | None) -> None:
        if self.move is None:
            return
        self.numbers.update((name, f"{value:.3f}") for name, value in numbers.items() if value is not None)
        if self.max_steps:
            self.move(event["step"], int(self.max_steps), **self.numbers)
        else:
            self.move(int(1000 * event["progress"]), 1000, **self.numbers)


def _made(kind: Any, event: dict[str, Any]) -> Any:
    return kind(**{field.name: event[field.name] for field in fields(kind)})


def _json(config: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(config), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"config: {error}; pass a dict of strings, numbers, True, False or None") from None


def _call(given: dict[str, Any]) -> str:
    """The call for the model card, with the options that are not the defaults."""
    defaults = train.__kwdefaults__ or {}
    unchanged = [name for name in defaults if given[name] is defaults[name] or name in ("on_step", "on_test", "progress")]
    plain = (str, int, float, list, tuple)
    unchanged += [name for name in defaults if isinstance(given[name], plain) and given[name] == defaults[name]]
    options = [f"{name}={_shown(name, given[name])}" for name in defaults if name not in unchanged]
    return f"wordloom.train({', '.join([_shown('pairs', given['pairs']), _shown('out', given['out']), *options])})"


def _shown(name: str, value: Any) -> str:
    if isinstance(value, os.PathLike):
        return f"Path({os.fspath(value)!r})"
    if name not in ("pairs", "dev") or isinstance(value, str):
        return repr(value)
    if _is_two_files(value):
        return f"({_shown(name, value[0])}, {_shown(name, value[1])})"
    if isinstance(value, (list, tuple)) and all(isinstance(item, (str, os.PathLike)) or _is_two_files(item) for item in value):
        return f"[{', '.join(_shown(name, item) for item in value)}]"
    return name  # text is not for the card


def _is_two_files(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(item, os.PathLike) for item in value)
