"""Glossaries: terms whose translation is prescribed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

#: Bytes of the largest glossary. The engine refuses a larger one, which need not be read to its end.
MOST_BYTES = 16 << 20


def named_lines(glossary: Any) -> tuple[str, bytes] | None:
    """A glossary's name for messages, and its lines as a file has them.

    * a mapping of source terms to targets: a string, a list of forms of which any will do, or None for a term that stays as it is
    * the path of a file
    """
    if glossary is None:
        return None
    if isinstance(glossary, Mapping):
        lines = (_line(source, target) for source, target in glossary.items())
        return "glossary", "".join(lines).encode()
    try:
        path = os.fspath(glossary)
    except TypeError:
        raise TypeError(f"glossary is {type(glossary).__name__}; pass a dict of terms, or the path of a file") from None
    with open(path, "rb") as file:
        return os.fsencode(path).decode(errors="replace"), file.read(MOST_BYTES + 1)


def _line(source: Any, target: Any) -> str:
    if target is None or isinstance(target, str):
        forms = ["="] if target is None else [target]
    else:
        forms = list(target) if hasattr(target, "__iter__") and not isinstance(target, bytes) else [target]
    for text in (source, *forms):
        if not isinstance(text, str):
            raise TypeError(f"glossary holds {type(text).__name__}; a term is a str, and its translation a str, a list of them, or None")
        if any(character in text for character in "\t\n\r"):
            raise ValueError(f"glossary: {text!r} has a tab or a line break; a term has none")
    if not forms:
        raise ValueError(f"glossary: {source!r} has an empty list; pass its translation, or None to keep it as it is")
    if any("|" in form for form in forms[1:]):
        raise ValueError(f"glossary: a form of {source!r} has |, which separates forms; only the first may have it")
    return "\t".join([source, forms[0], "|".join(forms[1:])]).rstrip("\t") + "\n"
