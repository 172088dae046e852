"""What calls return. All of it can be pickled."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a whole text."""

    text: str
    #: Mean of the sentences' scores; 0 without sentences.
    score: float


@dataclass(frozen=True)
class SentenceHypothesis:
    """One translation of a sentence."""

    text: str
    #: Beam search: the sum of log-probabilities, divided by the length to the power of the length penalty. Else the sum.
    score: float
    #: Token ids, from the start token to the end token.
    tokens: list[int]
    #: Log-probability of every token after the start token.
    step_logprobs: list[float]
    #: Whether the maximal length ended the search; text may be missing.
    reached_max_length: bool

    def __hash__(self) -> int:
        return hash((self.text, self.score))


@dataclass(frozen=True)
class Sentence:
    """One translated sentence."""

    source: str
    #: Token ids of the source, the end token included.
    source_ids: list[int]
    #: Translations, best first.
    hypotheses: list[SentenceHypothesis]
    #: Links between words, ``(source word, target word)``, counted from 0, if ``alignments=True``.
    alignment: list[tuple[int, int]] | None = None
    #: Number of tokens at the end of a document that the model did not read, with ``document="truncate"``.
    left_out_tokens: int = 0

    def __hash__(self) -> int:
        return hash((self.source, tuple(self.hypotheses)))


@dataclass(frozen=True)
class Translation:
    """The translation of one text. ``str()`` gives the best text."""

    #: The best translation, with the line breaks and spaces of the source.
    text: str
    #: Translations of the whole text, best first.
    hypotheses: list[Hypothesis]
    #: Sentences in order.
    sentences: list[Sentence]

    def __hash__(self) -> int:
        return hash((self.text, tuple(self.sentences)))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Score:
    """The probability of a target."""

    #: Natural logarithm of each token's probability, the end token included.
    token_log_probabilities: list[float]

    def __hash__(self) -> int:
        return hash(tuple(self.token_log_probabilities))

    @property
    def log_probability(self) -> float:
        """Natural logarithm of the target's probability."""
        return math.fsum(self.token_log_probabilities)

    @property
    def perplexity(self) -> float:
        """``exp(-log_probability / tokens)``."""
        return math.exp(-self.log_probability / len(self.token_log_probabilities))


@dataclass(frozen=True)
class TrainingStep:
    """Some steps of a training, together."""

    #: Number of the last step, from 1.
    step: int
    #: Passes over the data so far, with a fraction.
    epoch: float
    #: Time of training so far.
    seconds: float
    #: Mean loss of a target token, nats.
    loss: float
    #: The same with label smoothing.
    smoothed_loss: float
    #: Share of target tokens that had the best logit.
    accuracy: float
    learning_rate: float
    #: Norm of all gradients of the last step, before clipping.
    gradient_norm: float
    #: Target tokens a second.
    tokens_per_second: float
    #: Used share of the steps or minutes, 0 to 1.
    progress: float
    #: Seconds to the end; ``None`` before any progress.
    seconds_left: float | None


@dataclass(frozen=True)
class TrainingTest:
    """A test of the model with the dev set. If it is the best so far, the model is in the folder."""

    #: The step after which it was.
    step: int
    #: Mean loss of a target token, nats.
    loss: float
    #: Share of target tokens that had the best logit.
    accuracy: float
    #: BLEU of ``bleu_pairs`` pairs, with greedy search.
    bleu: float | None
    #: Whether no earlier test was better.
    best: bool


@dataclass(frozen=True)
class Training:
    """A finished training. ``Translator(training.folder)`` opens its best model."""

    folder: Path
    #: Steps in all.
    steps: int
    #: Time of training.
    seconds: float
    #: Loss of the best model on the dev set, nats for each target token.
    dev_loss: float | None
    #: The step of the best model.
    best_step: int | None
    #: BLEU and chrF of ``bleu_pairs`` dev pairs, by the best model with its own search.
    bleu: float | None
    chrf: float | None
    #: What ended it: ``"max_steps"``, ``"max_minutes"`` or ``"patience"``.
    stopped: str


@dataclass(frozen=True)
class Generated:
    """Result of ``generate(..., return_dict_in_generate=True)``, under transformers' names."""

    #: ``[inputs * num_return_sequences, length]``, padded at the end.
    sequences: Any
    #: Score of each sequence.
    sequences_scores: Any


def translations(found: Iterable[tuple[Any, ...]]) -> list[Translation]:
    """Makes ``Translation`` objects of the engine's tuples. Python's collector rests meanwhile: many new objects would wake it again and
    again, and none of them is garbage."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return [translation(parts) for parts in found]
    finally:
        if collects:
            gc.enable()


def translation(parts: tuple[Any, ...]) -> Translation:
    """Makes a ``Translation`` of the engine's tuples."""
    text, hypotheses, sentences = parts
    return Translation(
        text,
        [Hypothesis(*hypothesis) for hypothesis in hypotheses],
        [
            Sentence(source, ids, [SentenceHypothesis(*found) for found in hypotheses], links, left_out)
            for source, ids, hypotheses, links, left_out in sentences
        ],
    )
