"""The attention of a translation."""

from __future__ import annotations

import html
import os
from typing import Any

from . import _native
from ._arrays import array


class SentenceAttention:
    """The attention of one sentence.

    ``encoder``, ``decoder`` and ``cross`` are float32 arrays ``[layers, heads, queries, keys]``; rows sum to 1. A query of the
    decoder is named after the token that it produced. If ``memory`` left layers out, ``layers`` tells which ones are there:
    ``cross[i]`` is the layer ``layers["cross"][i]``.
    """

    def __init__(self, traced: _native.Attention, index: int) -> None:
        self._traced, self._index = traced, index
        self.source: str
        self.target: str
        self.source, self.target = traced.texts(index)
        #: Tokens that the encoder read, as the tokenizer has them.
        self.source_tokens: list[str] = [piece for _, piece, _ in traced.tokens(index, "cross")[1]]
        #: Tokens that the decoder produced.
        self.target_tokens: list[str] = [piece for _, piece, _ in traced.tokens(index, "cross")[0]]
        #: Numbers of the layers that are there, counted from 0, of ``"encoder"``, ``"decoder"`` and ``"cross"``.
        self.layers: dict[str, list[int]] = {kind: traced.layers(index, kind) for kind in ("encoder", "decoder", "cross")}

    @property
    def encoder(self) -> Any:
        """Self-attention of the encoder."""
        return self._weights("encoder")

    @property
    def decoder(self) -> Any:
        """Self-attention of the decoder. Its keys are the tokens that it read: the start token, then those before the query."""
        return self._weights("decoder")

    @property
    def cross(self) -> Any:
        """Attention of the decoder's queries to the encoder's tokens."""
        return self._weights("cross")

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """Links between words: source word, target word, counted from 0."""
        return self._traced.links(self._index)

    def _weights(self, kind: str) -> Any:
        shape, data = self._traced.weights(self._index, kind)
        return array(data, shape)

    def __repr__(self) -> str:
        return f"<wordloom.SentenceAttention: {self.source!r} -> {self.target!r}>"


class Attention:
    """The attention of a text's translation. A notebook shows it: every head, the search, and numbers, without a network."""

    def __init__(self, traced: _native.Attention) -> None:
        self._traced = traced
        #: Sentences in order.
        self.sentences: list[SentenceAttention] = [
            SentenceAttention(traced, index) for index in range(len(traced))
        ]

    def html(self) -> str:
        """The viewer, as one HTML page."""
        return self._traced.html()

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Writes a file: ``.html`` (the viewer), ``.json`` or ``.safetensors`` (a trace, which ``wordloom attend --trace`` opens)."""
        path = os.fsdecode(path)
        ending = os.path.splitext(path)[1].lower()
        if ending in (".html", ".htm"):
            data = self.html().encode()
        elif ending == ".json":
            data = self._traced.json().encode()
        elif ending == ".safetensors":
            data = self._traced.safetensors()
        else:
            raise ValueError(f"{path!r} has no known ending; use .html, .json or .safetensors")
        with open(path, "wb") as file:
            file.write(data)

    def _repr_html_(self) -> str:
        page = html.escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="attention of a translation" '
            'style="width:100%;height:720px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<wordloom.Attention of {len(self.sentences)} sentences>"
