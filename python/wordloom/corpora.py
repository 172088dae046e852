"""One model for each process, for engines that run Python on many workers: Ray Data, Spark, Dask, Daft.

``docs/corpora.md`` has an example for each.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from ._translator import Translator

_translators: dict[str, Translator] = {}
_threads: int | None = None
_lock = threading.Lock()


def translator(
    model: str | os.PathLike[str] | None = None,
    device: str = "auto",
    weights: str = "auto",
    *,
    threads: int | None = None,
    **options: Any,
) -> Translator:
    """The translator of this process: the first call loads it, later calls with the same arguments return the same one, or a new one if
    it was closed.

    An engine sends a function anew with each task, and its global variables with it. So the model is kept here.

    * ``threads``: threads of this process on the CPU, also those of other translators; by default one for each core. Pass the cores that the
      engine gives to one task. The first model of a process fixes the number
    * all others: see ``Translator``

    Raises as ``Translator``, and ``ValueError`` if an earlier call asked for another number of threads.
    """
    global _threads
    with _lock:
        if threads is not None:
            if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
                raise ValueError(f"threads is {threads!r}; pass 1 or more")
            if _threads not in (None, threads):
                raise ValueError(f"threads is {threads}, but this process has {_threads} already; pass the same number")
            _threads = threads
            os.environ["RAYON_NUM_THREADS"] = str(threads)
        name = repr((None if model is None else os.fspath(model), device, weights, sorted(options.items())))
        if name not in _translators or _translators[name]._is_closed:
            _translators[name] = Translator(model, device, weights, progress=False, **options)
        return _translators[name]


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
