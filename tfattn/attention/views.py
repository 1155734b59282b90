"""What a model looks at in one input: its tokens, the weights of each layer and head, and what tokens contribute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.errors import ServingError
from tfattn.ops.attention_record import CROSS, DECODER, ENCODER
from tfattn.ops.rollout import rollout

ROLLOUT = "rollout"
TARGET, WRITTEN = "target_", "written_"  # begin the names of what is known of the tokens of a target
# Which sequences a part attends from and to, by how the names of what is known of them begin.
SIDES = {ENCODER: ("", ""), DECODER: (TARGET, TARGET), CROSS: (WRITTEN, "")}
WEIGHTS = "_weights"


@dataclass(frozen=True)
class Tokens:
    """A sequence of T tokens, or of patches of an image.

    Args:
        names: as they are shown.
        words: of each the number of the word that it is part of, rising from 0.
        word_texts: that word.
        segments: of each the number of its text, 0 or 1.
        special: whether each stands for no text, such as [CLS].
        grid: rows and columns of patches, which the last tokens are; None where they are no image's.
        image: that image, as a file holds it.
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
        name: "encoder", "decoder", "cross", or of the rollout of one of these.
        rows, columns: the numbers of the sequences that it attends from and to.
        weights: (L, H, T, S), of layers and heads; each row of S sums to 1.
        queries: (L, H, T, K); None where weights follow from no products of vectors.
        keys: (L, H, S, K); None likewise.
    """

    name: str
    rows: int
    columns: int
    weights: np.ndarray
    queries: np.ndarray | None = None
    keys: np.ndarray | None = None


@dataclass(frozen=True)
class Attributions:
    """What each token of the first sequence contributes to a score, by integrated gradients.

    Args:
        values: (T,); with enough steps they add up to the score less the baseline.
        score: the highest one.
        baseline: the same of a text whose tokens have vectors of zeros.
        scored: what it is the score of, such as a label.
    """

    values: np.ndarray
    score: float
    baseline: float
    scored: str

    @property
    def missing(self) -> float:
        """How much the values lack of that sum, because of the number of steps."""
        return self.score - self.baseline - float(np.sum(self.values))


@dataclass(frozen=True)
class Views:
    """Everything that is shown of one input.

    Args:
        title: the name of the model.
        sequences: that the parts attend from and to.
        parts: of the model, then the rollouts of those that attend to themselves.
        attributions: where the model has a score.
    """

    title: str
    sequences: list[Tokens]
    parts: list[Part]
    attributions: Attributions | None = None

    def part(self, name: str) -> Part:
        """Return a part by its name."""
        return next(part for part in self.parts if part.name == name)

    def html(self) -> str:
        """Write the page: one file that needs nothing beside it."""
        from tfattn.attention.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from tfattn.attention.page import framed

        return framed(self)


def of_outputs(
    title: str,
    attention: Mapping[str, Any],
    vectors: Mapping[str, Any] | None = None,
    attributions: Mapping[str, Any] | None = None,
    *,
    image: bytes | None = None,
) -> Views:
    """Make the views of one row of what the signatures of `tfattn.export.attention` answer.

    Args:
        title: the name of the model.
        attention, vectors, attributions: the outputs of each by name, without the dimension of rows; None where the
            model has no such signature. Of an image `attention` has a `grid`, rows and columns of its patches.
        image: what was read, as a file holds it.

    Raises:
        ServingError: the outputs are of no part that is known.
    """
    prefixes = [prefix for prefix in ("", TARGET, WRITTEN) if f"{prefix}tokens" in attention]
    sequences = [_tokens(attention, prefix, image) for prefix in prefixes]
    parts = []
    for name, sides in SIDES.items():
        if f"{name}{WEIGHTS}" in attention:
            rows, columns = (prefixes.index(side) if side in prefixes else 0 for side in sides)
            parts.append(_part(name, (rows, columns), sequences, {**attention, **(vectors or {})}))
    if not parts:
        raise ServingError("the model tells of no attention", expected=", ".join(f"{name}{WEIGHTS}" for name in SIDES))
    own = [part for part in parts if part.rows == part.columns]
    rolled = [Part(f"{part.name} {ROLLOUT}", part.rows, part.columns, rollout(part.weights)) for part in own]
    return Views(title, sequences, [*parts, *rolled], attributions and _attributed(attributions, len(sequences[0])))


def _tokens(outputs: Mapping[str, Any], prefix: str, image: bytes | None) -> Tokens:
    segments = np.asarray(outputs[f"{prefix}segments"], int)
    length = int(np.sum(segments >= 0))
    names, words, texts, special = (
        np.asarray(outputs[f"{prefix}{name}"]).tolist()[:length]
        for name in ("tokens", "words", "word_texts", "is_special")
    )
    grid = tuple(map(int, outputs["grid"])) if "grid" in outputs else None
    known = (words, [*map(_text, texts)], segments[:length].tolist(), special)
    return Tokens([*map(_text, names)], *known, grid=grid, image=image)


def _part(name: str, sides: tuple[int, int], sequences: Sequence[Tokens], outputs: Mapping[str, Any]) -> Part:
    rows, columns = (len(sequences[side]) for side in sides)
    weights = np.asarray(outputs[f"{name}{WEIGHTS}"], np.float32)[:, :, :rows, :columns]
    queries, keys = (outputs.get(f"{name}_{kind}") for kind in ("queries", "keys"))
    if queries is not None:
        queries = np.asarray(queries, np.float32)[:, :, :rows]
        keys = np.asarray(keys, np.float32)[:, :, :columns]
    return Part(name, *sides, weights, queries, keys)


def _attributed(outputs: Mapping[str, Any], length: int) -> Attributions:
    score, baseline = (float(outputs[name]) for name in ("score", "baseline_score"))
    values = np.asarray(outputs["attributions"], np.float32)[:length]
    return Attributions(values, score, baseline, _text(outputs["scored"]))


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
