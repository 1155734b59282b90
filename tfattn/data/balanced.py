"""Batches in which every class has the same number of rows."""

import numpy as np

from tfattn.errors import ConfigError


def balanced_batches(
    rows: np.ndarray, label_ids: np.ndarray, *, batch_size: int, batches: int | None, generator: np.random.Generator
) -> list[np.ndarray]:
    """Sample batches with the same number of rows of each class, in random order.

    A row repeats only after all other rows of its class.

    Args:
        rows: (N,) record indices.
        label_ids: (N,) the class of each record.
        batch_size: rows per batch, a multiple of the number of classes.
        batches: number of batches; by default enough for all rows of the largest class.
        generator: random number generator.

    Raises:
        ConfigError: the classes do not share a batch evenly.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> [sorted(b.tolist()) for b in balanced_batches(np.arange(3), np.array([0, 1, 1]), batch_size=2, batches=2,
        ...                                               generator=draw)]
        [[0, 1], [0, 2]]
    """
    classes = np.unique(label_ids)
    if batch_size % len(classes):
        raise ConfigError(
            "the classes do not share a batch evenly",
            key="batch_size",
            expected=f"a multiple of {len(classes)}, the number of classes",
            received=str(batch_size),
        )
    share = batch_size // len(classes)
    members = [rows[label_ids == label] for label in classes]
    count = -(-max(map(len, members)) // share) if batches is None else batches
    drawn = [_sample(some, count * share, generator).reshape(count, share) for some in members]
    return [generator.permutation(batch) for batch in np.concatenate(drawn, axis=1)]


def _sample(rows: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    rounds = [generator.permutation(rows) for _ in range(-(-count // len(rows)))]
    return np.concatenate([rows[:0], *rounds])[:count]
