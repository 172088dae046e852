"""Bars of tqdm, if it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def bar(wanted: bool, what: str, **options: Any) -> Iterator[Callable[..., None] | None]:
    """Gives a function of done and total units, and numbers to show, that moves a bar; ``None`` if none is wanted or tqdm is not installed."""
    progress = _tqdm() if wanted else None
    if progress is None:
        yield None
        return
    with progress(desc=what, **options) as shown:

        def move(done: int, total: int, **numbers: str) -> None:
            shown.total = total
            if numbers:
                shown.set_postfix(numbers, refresh=False)
            shown.update(done - shown.n)

        yield move


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    return tqdm
