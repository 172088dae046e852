"""The check of a GPU."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _native
from ._progress import bar


@dataclass(frozen=True)
class DeviceCheck:
    """What a check found. ``str()`` gives its sentence."""

    #: Whether every kernel was right.
    right: bool
    #: Whether the GPU can be used, perhaps without some kernels. If not, take ``device="cpu"``.
    usable: bool
    summary: str
    #: The report in Markdown, to attach to an issue. It names adapter and driver, and nothing of the user.
    markdown: str
    #: The same as plain data: ``device``, ``kernels``, ``runs``, ``wrong_cases``.
    report: dict[str, Any]

    def __str__(self) -> str:
        return self.summary


def check(device: str = "gpu", progress: bool = False) -> DeviceCheck:
    """Compares every kernel of a GPU with the CPU, then searches, pictures and a training. A kernel that is wrong is never used on
    that device again, by any program of this user.

    * ``device``: ``"gpu"``, ``"auto"`` or a part of an adapter's name
    * ``progress``: whether tqdm shows a bar, if it is installed

    Raises ``GpuError`` if there is no such GPU, or if it fails; ``ValueError`` for the CPU.
    """
    if not isinstance(device, str):
        raise TypeError(f"device is {type(device).__name__}; pass a str")
    with bar(progress, "checking", unit="‰") as move:
        right, usable, summary, markdown, report = _native.check_device(device, move)
    return DeviceCheck(right, usable, summary, markdown, json.loads(report))
