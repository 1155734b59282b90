"""Attention data of one input: tokens, weights of layers and heads, and attributions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tokens:
    """A sequence of T tokens, or of patches of an image.

    Args:
        names: the displayed tokens.
        words: the index of the word of each token, increasing from 0.
        word_texts: the word of each token.
        segments: the index of the text of each token, 0 or 1.
        special: whether a token is a special token, such as [CLS].
        grid: rows and columns of patches, the last tokens; None for texts.
        image: the bytes of the image file.
    """

    names: Sequence[str]
    words: Sequence[int]
    word_texts: Sequence[str]
    segments: Sequence[int]
    special: Sequence[bool]
    grid: tuple[int, int] | None = None
    image: bytes | None = None

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Part:
    """The attention of a part of a model.

    Args:
        name: "encoder", "decoder", "cross", or the rollout of a part.
        rows, columns: the indices of the sequences that it attends from and to.
        weights: (L, H, T, S), of layers and heads; rows sum to 1.
        queries: (L, H, T, K); None without dot-product attention.
        keys: (L, H, S, K); None without dot-product attention.
    """

    name: str
    rows: int
    columns: int
    weights: np.ndarray
    queries: np.ndarray | None = None
    keys: np.ndarray | None = None


@dataclass(frozen=True)
class Attributions:
    """Attributions of the tokens of the first sequence to a score, by integrated gradients.

    Args:
        values: (T,); with enough steps they sum to the score minus the baseline.
        score: the highest score.
        baseline: the score of zero vectors.
        scored: the name of the score, such as a label.
    """

    values: np.ndarray
    score: float
    baseline: float
    scored: str

    @property
    def missing(self) -> float:
        """The difference between the sum of the values and its limit, caused by the number of steps."""
        return self.score - self.baseline - float(np.sum(self.values))


@dataclass(frozen=True)
class AttentionData:
    """The attention of a model for one input.

    Args:
        title: the name of the model.
        sequences: the token sequences.
        parts: the parts of the model, then the rollouts of self-attention.
        attributions: the attributions, if the model has a score.
    """

    title: str
    sequences: list[Tokens]
    parts: list[Part]
    attributions: Attributions | None = None

    def part(self, name: str) -> Part:
        """Return a part by its name."""
        return next(part for part in self.parts if part.name == name)
